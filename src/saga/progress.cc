#include "saga/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "env/foreign_code.h"
#include "env/seam.h"
#include "skald/env.h"

namespace skald::saga {
namespace {

using seam::Rule;

constexpr int kRestartsMax = 3;
constexpr Duration kPauseMax = 10s;

// Throws what the user's functions throw.
int count_of(const Step& step, const void* state) {
  return run_foreign([&] {
    if (step.wanted && !step.wanted(state)) return 0;
    return step.count ? static_cast<int>(step.count(state)) : 1;
  });
}

bool is_done(const Progress& progress, int step, int element) {
  return std::ranges::find(progress.done, Done{step, element}) != progress.done.end();
}

// What is in hand next has not been tried yet.
void take_fresh(Progress& progress) {
  progress.attempt = 0;
  progress.called = false;
  progress.wait_until.reset();
  progress.lacking.reset();
  progress.troubled_since.reset();
}

void move_on(Progress& progress) {
  ++progress.step;
  progress.element = 0;
  take_fresh(progress);
}

void begin_undo(Progress& progress, int undo_to, std::optional<Failure> failure) {
  progress.undoing = true;
  progress.undo_to = undo_to;
  progress.anew = false;
  take_fresh(progress);
  progress.failure = std::move(failure);
  if (!seam::holds(Rule::undone_in_reverse)) std::ranges::reverse(progress.done);
}

int step_named(const Definition& definition, const std::string& name) {
  for (std::size_t i = 0; i < definition.steps.size(); ++i)
    if (definition.steps[i].name == name) return static_cast<int>(i);
  return 0;
}

const Step* step_in_hand(const Definition& definition, const Progress& progress) {
  const auto index = static_cast<std::size_t>(progress.step);
  return index < definition.steps.size() ? &definition.steps[index] : nullptr;
}

// Its end decides whether there is something to undo: nobody turns back before.
bool has_child_under_way(const Definition& definition, const Progress& progress) {
  const Step* in_hand = step_in_hand(definition, progress);
  return in_hand != nullptr && in_hand->kind == Kind::child && progress.called && !progress.undoing;
}

bool can_go_back(const Definition& definition, const Progress& progress) {
  return !(progress.past_pivot && seam::holds(Rule::pivot_is_final)) && !definition.forward_only;
}

// What may have happened counts as done, so that its cancel is among the undos.
void assume_done(Progress& progress, const Next& what, const Trouble& trouble) {
  if (!what.step->undo.remote) return;
  for (const int element : trouble.unknown) progress.done.push_back({what.index, element});
}

}  // namespace

Next next(const Definition& definition, Progress& progress, const void* state) {
  if (progress.undoing) {
    while (static_cast<int>(progress.done.size()) > progress.undo_to) {
      const Done last = progress.done.back();
      const Step& step = definition.steps[static_cast<std::size_t>(last.step)];
      if (step.undo) return {Next::Act::undo, &step, last.step, {last.element}};
      progress.done.pop_back();
    }
    if (progress.failure) return {};
    // What was read has been undone: forward again from there.
    progress.undoing = false;
    progress.attempt = 0;
  }
  while (progress.step < static_cast<int>(definition.steps.size())) {
    const Step& step = definition.steps[static_cast<std::size_t>(progress.step)];
    int count = 0;
    try {
      count = count_of(step, state);
    } catch (const std::exception&) {
      return {Next::Act::run, &step, progress.step, {progress.element}, std::current_exception()};
    }
    if (step.parallel) {
      Next found{Next::Act::run, &step, progress.step, {}};
      for (int i = 0; i < count; ++i)
        if (!is_done(progress, progress.step, i)) found.elements.push_back(i);
      if (!found.elements.empty()) return found;
    } else if (progress.element < count) {
      return {Next::Act::run, &step, progress.step, {progress.element}};
    }
    move_on(progress);
  }
  return {};
}

// With no characters but those that every header and path takes.
std::string name_of(const Step& step, int element) {
  std::string out;
  for (const unsigned char c : step.name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out + "/" + std::to_string(element);
}

void succeed(Progress& progress, const Next& what, int element, const void* state) {
  take_fresh(progress);
  progress.called = what.act == Next::Act::run && what.elements.size() > 1;  // the others have no answer yet
  if (what.act == Next::Act::undo) {
    if (what.step->run.remote) progress.undone.push_back(name_of(*what.step, element));
    progress.done.pop_back();
    return;
  }
  progress.done.push_back({what.index, element});
  if (!what.step->parallel) ++progress.element;
  bool whole = what.elements.size() == 1, unknown = false;
  try {
    if (what.step->count && !what.step->parallel) whole = progress.element >= count_of(*what.step, state);
  } catch (const std::exception&) {
    whole = false;
    unknown = true;
  }
  if ((whole || unknown) && what.step->pivot) {
    progress.past_pivot = true;
    progress.done.clear();
  }
  if (whole) move_on(progress);
}

bool needs_patience(const Definition& definition, const Progress& progress, const Next& what, const Trouble& trouble) {
  return what.act == Next::Act::undo || trouble.kind == Trouble::Kind::unknown || !can_go_back(definition, progress);
}

Verdict fail(const Definition& definition, Progress& progress, const Next& what, const Trouble& trouble,
             bool patience_over) {
  ++progress.attempt;
  if (what.act == Next::Act::undo && !seam::holds(Rule::failing_undo_parked)) patience_over = false;
  const bool patient = needs_patience(definition, progress, what, trouble);
  // A definite answer, unless one beside it has none; and a child that was started is not started twice.
  if (what.act == Next::Act::run && trouble.kind != Trouble::Kind::unknown)
    progress.called = !trouble.unknown.empty() || (what.step->kind == Kind::child && progress.called);
  if (patient) return patience_over ? Verdict::help : Verdict::again;
  if (trouble.kind != Trouble::Kind::refusal && progress.attempt < trouble.retry.value_or(what.step->retry).tries) {
    if (trouble.kind == Trouble::Kind::stale && !what.step->back_to.empty()) {
      assume_done(progress, what, trouble);
      if (++progress.restarts >= what.step->retry.tries) {
        begin_undo(progress, 0, trouble.failure);
      } else {
        const int back = step_named(definition, what.step->back_to);
        const auto kept = std::ranges::find_if(progress.done, [&](const Done& d) { return d.step >= back; });
        begin_undo(progress, static_cast<int>(kept - progress.done.begin()), std::nullopt);
        progress.step = back;
        progress.element = 0;
      }
      return Verdict::undo;
    }
    return Verdict::again;
  }
  assume_done(progress, what, trouble);
  if (!seam::holds(Rule::only_done_is_undone)) progress.done.push_back({what.index, what.elements.front()});
  begin_undo(progress, 0, trouble.failure);
  return Verdict::undo;
}

Duration pause_after(const Retry& retry, int attempt, bool patient, Random& random) {
  const int tried = std::max(attempt, 1);
  const std::int64_t times = patient ? std::int64_t{1} << std::min(tried - 1, 20) : tried;
  const Duration pause = std::min<Duration>(retry.first * times, kPauseMax);
  const auto jitter = static_cast<std::int64_t>(random.next() % 1000);
  return pause + pause * jitter / 4000;
}

bool can_expire(const Definition& definition, const Progress& progress) {
  return !progress.undoing && can_go_back(definition, progress) && !has_child_under_way(definition, progress);
}

bool expire(const Definition& definition, Progress& progress, const void* state) {
  if (!can_expire(definition, progress)) return true;
  const auto* in_hand = step_in_hand(definition, progress);
  return turn_back(definition, progress, state,
                   {"DEADLINE", "the saga did not end before its deadline", in_hand ? in_hand->name : ""});
}

bool turn_back(const Definition& definition, Progress& progress, const void* state, Failure failure) {
  if (!can_expire(definition, progress)) return false;
  const Step* in_hand = step_in_hand(definition, progress);
  const bool asked = in_hand != nullptr && in_hand->kind == Kind::remote && progress.called;
  if (asked && seam::holds(Rule::unknown_not_guessed)) {
    // The call may have worked: only a cancel by key can undo what nobody knows of.
    if (!in_hand->undo.remote && seam::holds(Rule::asked_pivot_awaited)) return false;
    for (const int element : next(definition, progress, state).elements)
      progress.done.push_back({progress.step, element});
  }
  begin_undo(progress, 0, std::move(failure));
  return true;
}

bool start_again(const Definition& definition, Progress& progress) {
  if (!can_go_back(definition, progress) || ++progress.restarts > kRestartsMax) return false;
  begin_undo(progress, 0, std::nullopt);
  progress.anew = true;
  progress.step = 0;
  progress.element = 0;
  return true;
}

}  // namespace skald::saga
