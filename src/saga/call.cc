#include "saga/call.h"

#include <algorithm>
#include <boost/json.hpp>

#include "env/foreign_code.h"
#include "env/seam.h"
#include "saga/group.h"
#include "saga/recording.h"

namespace skald::saga {
namespace {

struct Answer {
  std::shared_ptr<void> state;
  std::optional<Trouble> trouble;
  Time begun{}, ended{};
};

// Made anew after it was undone, a call gets another key: the first may be cancelled for ever.
std::string key_of(const Instance& saga, const Next& what, int element) {
  const std::string name = name_of(*what.step, element);
  const auto undone = std::ranges::count(saga.progress.undone, name);
  const bool same = seam::holds(seam::Rule::same_key_every_call);
  return saga.row.id + "/" + name + (undone > 0 ? "/" + std::to_string(undone + 1) : "") +
         (same ? "" : "/try" + std::to_string(saga.progress.attempt)) + (what.act == Next::Act::undo ? "/undo" : "");
}

Answer ask(Env env, const Instance& saga, const Next& what, int element) {
  Answer answer{saga.definition->codec.copy(saga.state.get()), {}, env.clock.now(), {}};
  StepContext context = saga.context(what, element);
  auto span = saga.begin_step_span(env, what);
  if (span) context.traceparent = span->traceparent();
  Remote step(context, key_of(saga, what, element), saga.row.fence, what.step->timeout);
  try {
    const CrashNotes::Running running(saga.notes, kSagaNote, saga.row.id);
    const Actions& actions = what.act == Next::Act::undo ? what.step->undo : what.step->run;
    run_foreign([&] { actions.remote(step, answer.state.get(), context.element); });
  } catch (...) {
    answer.trouble = trouble_of(std::current_exception(), what);
  }
  answer.ended = env.clock.now();
  if (span && answer.trouble) end_failed_span(env, *span, described(answer.trouble->failure));
  else if (span) end_span(env, *span);
  return answer;
}

// Branches change different members of the state: each brings its own.
void merge(Instance& saga, const boost::json::object& before, const Answer& answer) {
  const auto& codec = saga.definition->codec;
  auto merged = json::parse(codec.write(saga.state.get())).as_object();
  const auto after = json::parse(codec.write(answer.state.get())).as_object();
  for (const auto& [name, value] : after) {
    const auto* old = before.if_contains(name);
    if (old == nullptr || *old != value) merged[name] = value;
  }
  saga.state = codec.read(RawJson{boost::json::serialize(merged)});
}

}  // namespace

bool awaits_answer(const Instance& saga) {
  Progress progress = saga.progress;
  const Next what = next(*saga.definition, progress, saga.state.get());
  if (what.act == Next::Act::finish || what.failed) return false;
  return static_cast<bool>((what.act == Next::Act::undo ? what.step->undo : what.step->run).remote);
}

std::optional<Trouble> call(Env env, Instance& saga, bool asked_before, const SideBySide& side_by_side) {
  const Next what = next(*saga.definition, saga.progress, saga.state.get());
  if (what.failed) return std::nullopt;  // the transaction meets it
  std::vector<Answer> answers(what.elements.size());
  if (what.elements.size() == 1) {
    answers[0] = ask(env, saga, what, what.elements[0]);
  } else {
    std::vector<std::function<void()>> calls;
    for (std::size_t i = 0; i < answers.size(); ++i)
      calls.push_back([&, i] { answers[i] = ask(env, saga, what, what.elements[i]); });
    side_by_side(std::move(calls));
  }
  std::optional<Trouble> trouble;
  std::vector<int> unknown;
  boost::json::object before;
  if (answers.size() > 1) before = json::parse(saga.definition->codec.write(saga.state.get())).as_object();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].trouble) {
      // That this call did not happen tells nothing of an earlier one without an answer.
      Trouble::Kind& kind = answers[i].trouble->kind;
      if (asked_before && kind == Trouble::Kind::passing) kind = Trouble::Kind::unknown;
      if (kind == Trouble::Kind::unknown) unknown.push_back(what.elements[i]);
      // A refusal decides, whatever else went wrong beside it.
      if (!trouble || answers[i].trouble->kind == Trouble::Kind::refusal) trouble = answers[i].trouble;
      continue;
    }
    if (answers.size() > 1) merge(saga, before, answers[i]);
    else saga.state = std::move(answers[i].state);
    saga.note({what.step->name,
               std::string(enum_name(what.step->kind)),
               what.act == Next::Act::undo ? "UNDONE" : "DONE",
               saga.progress.attempt + 1,
               answers[i].begun,
               answers[i].ended,
               {}});
    record_done(saga, what, what.elements[i]);
    const Next left = next(*saga.definition, saga.progress, saga.state.get());
    succeed(saga.progress, left.failed ? what : left, what.elements[i], saga.state.get());
  }
  if (trouble) trouble->unknown = std::move(unknown);
  return trouble;
}

}  // namespace skald::saga
