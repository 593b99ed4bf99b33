#include "sim/unit_steps.h"

#include <utility>

namespace skald::sim {

void UnitSteps::subscribe() {
  const Rates rates = std::exchange(stage_.plan.rates, {});
  steps_.subscribe();
  stage_.plan.rates = rates;
}

Duration UnitSteps::beat() {
  try {
    return steps_.beat();
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  no beat:", error.code()});
    return 100ms;
  }
}

Duration UnitSteps::relay() {
  const Duration again = steps_.relay();
  relay_wake_seen_ = steps_.relay_woken();
  return again;
}

Duration UnitSteps::post() {
  const Duration again = steps_.post();
  post_wake_seen_ = steps_.post_woken();
  return again;
}

std::optional<Instant> UnitSteps::wants_relay() const {
  return steps_.relay_woken() && !relay_wake_seen_ ? std::optional(stage_.now()) : std::nullopt;
}

std::optional<Instant> UnitSteps::wants_post() const {
  return steps_.post_woken() && !post_wake_seen_ ? stage_.now() : courier_.next_answer();
}

}  // namespace skald::sim
