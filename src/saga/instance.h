// One saga in the hands of this process.
#pragma once

#include <memory>
#include <optional>

#include "env/crash_note.h"
#include "env/seam.h"
#include "saga/progress.h"
#include "skald/checker.h"
#include "skald/trace.h"
#include "store/tables/blame.h"
#include "store/tables/saga.h"
#include "store/tables/semantic_lock.h"

namespace skald::saga {

// In a crash note.
inline constexpr char kSagaNote = 's';

inline Conflict already_runs() { return {"SAGA_RUNS", "a saga of this type and key is under way"}; }

// What a step met, for the log.
struct Hardship {
  Trouble trouble;
  int attempt = 1;
};

struct Instance {
  tables::saga::Row row;               // as it was last committed, but for what it is copied from
  const Definition* definition = nullptr;
  Progress progress;
  std::shared_ptr<void> state;
  bool newborn = false;                // no row yet
  bool unique_key = false;             // newborn: only where no live one has its type and key
  std::string log;                     // lines that are not committed yet
  bool watched = false;                // an outage hit its code, or was caused by that: see store/user_code.h
  bool recorded = false;               // a history is kept for the checker
  std::vector<checker::Operation> operations;  // of it, not committed yet
  std::vector<Span> spans;             // of local steps, not committed yet
  std::vector<Hardship> hardships;     // the same
  tables::blame::Blame blame;          // for deaths of its workers
  const CrashNotes* notes = nullptr;

  // A copy whose state can be changed and thrown away.
  Instance draft() const {
    Instance copy = *this;
    if (seam::holds(seam::Rule::state_restored)) copy.state = definition->codec.copy(state.get());
    return copy;
  }
  StepContext context(const Next& what, int element) const {
    StepContext out{row.id,         row.key, what.step->name, progress.attempt + 1, static_cast<std::size_t>(element),
                    row.traceparent};
    if (what.act == Next::Act::undo && progress.failure)
      out.failure = SagaError{progress.failure->code, progress.failure->message};
    return out;
  }
  // The step in hand as a part of the saga's trace, where it has one.
  std::optional<Span> begin_step_span(const Env& env, const Next& what) const {
    const std::string_view undo = what.act == Next::Act::undo ? "undo " : "";
    auto span = begin_span(env, row.traceparent, Span::Kind::internal, {row.type, ": ", undo, what.step->name});
    if (span) span->attributes = {{"skald.saga_id", row.id}, {"skald.attempt", std::int64_t{progress.attempt + 1}}};
    return span;
  }
  void note(StepView line) {
    json::write(log, line);
    log += '\n';
  }
};

// Where a saga stands after a commit.
enum class After {
  go_on,     // more to do at once
  call,      // a remote call is to be made
  wait,      // unowned, until a time or a signal
  ended,
  parked     // a person must help
};

}  // namespace skald::saga
