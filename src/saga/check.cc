// Definitions that make no sense are refused before the first saga runs.
#include <algorithm>
#include <set>

#include "saga/registry.h"

namespace skald::saga {
namespace {

constexpr std::size_t kStepsMax = 1000;

[[noreturn]] void refuse(const Definition& definition, const std::string& sentence) {
  throw Invalid("SAGA_DEFINITION", definition.type + ": " + sentence);
}

void check_names(const Definition& definition) {
  std::set<std::string> names;
  for (const Step& step : definition.steps) {
    if (step.name.empty()) refuse(definition, "a step has no name: give it one");
    if (!names.insert(step.name).second)
      refuse(definition, "two steps are named '" + step.name + "': give each its own name");
  }
}

void check_pivot(const Definition& definition) {
  const auto& steps = definition.steps;
  const auto pivot = std::ranges::find_if(steps, &Step::pivot);
  if (pivot != steps.end() && std::ranges::any_of(pivot + 1, steps.end(), &Step::pivot))
    refuse(definition, "it has two pivots: there is one point of no return, keep the first");
  if (pivot != steps.end() && definition.forward_only)
    refuse(definition, "forward_only() has no way back from its beginning: remove pivot()");
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    const bool no_way_back = definition.forward_only || (pivot != steps.end() && step >= pivot);
    if (no_way_back && step->undo)
      refuse(definition, "'" + step->name + "' can never be undone, " +
                             (step == pivot ? "it is the pivot" : "it comes after the pivot") + ": remove its undo()");
    const bool acts = step->kind == Kind::local || step->kind == Kind::remote || step->kind == Kind::child;
    if (!no_way_back && acts && !step->undo && !step->nothing_to_undo)
      refuse(definition,
             "'" + step->name + "' comes before the pivot and has no undo(): add one, or say nothing_to_undo()");
    if (step->undo && step->nothing_to_undo)
      refuse(definition, "'" + step->name + "' has both undo() and nothing_to_undo(): keep one");
    if (step->undone_by_rollback && (!step->run.local || !step->undo.local))
      refuse(definition,
             "'" + step->name + "' says undo(by_rollback), which is for local steps with a local undo() besides");
  }
}

void check_steps(const Definition& definition) {
  for (std::size_t i = 0; i < definition.steps.size(); ++i) {
    const Step& step = definition.steps[i];
    if (step.retry.tries < 1) refuse(definition, "'" + step.name + "' must be tried at least once: retry(1, …)");
    if (step.timeout <= Duration::zero()) refuse(definition, "'" + step.name + "' needs a timeout() above zero");
    for (const Holds& holds : step.holds)
      if (holds.resource.empty()) refuse(definition, "'" + step.name + "' holds a lock without a resource's name");
    if (step.back_to.empty()) continue;
    const auto back = std::ranges::find(definition.steps, step.back_to, &Step::name);
    if (back == definition.steps.end() || back - definition.steps.begin() > static_cast<std::ptrdiff_t>(i))
      refuse(definition, "'" + step.name + "' rereads '" + step.back_to + "', which is no step before it");
    if (std::ranges::any_of(back, definition.steps.begin() + static_cast<std::ptrdiff_t>(i), &Step::pivot))
      refuse(definition, "'" + step.name + "' would go back over the pivot: reread a step behind it");
  }
}

}  // namespace

void check(const Definition& definition) {
  if (definition.type.empty()) throw Invalid("SAGA_DEFINITION", "a saga has no type: give it one, like 'order.place'");
  if (definition.version < 1) refuse(definition, "versions begin with 1");
  if (definition.steps.empty()) refuse(definition, "it has no steps: add one");
  if (definition.steps.size() > kStepsMax) refuse(definition, "it has more than 1000 steps: use each() or child()");
  check_names(definition);
  check_pivot(definition);
  check_steps(definition);
}

}  // namespace skald::saga
