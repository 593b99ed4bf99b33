#include "sim/agentflow/flow_faults.h"

#include "sim/signals.h"

namespace skald::sim {

void FlowFaults::maybe_die(std::string_view name, Marker marker) {
  if (!wiring_.dying() && !stage_.dice.chance(stage_.plan.rates.outside_dies)) return;
  if (!wiring_.dying()) stage_.markers.hit(marker);
  stage_.trace.note(stage_.now(), {"  outside", name, "dies"});
  wiring_.crashes();
  throw Crash{};
}

void FlowFaults::maybe_pause() {
  if (stage_.dice.chance(stage_.plan.rates.outside_slow)) wiring_.pause(stage_.dice.between(10ms, 5s));
}

void FlowFaults::begin(std::string_view name, const FlowTroubles& troubles) {
  stage_.timeline.advance(stage_.dice.between(100us, 5ms));
  maybe_pause();
  maybe_die(name, Marker::outside_died_before);
  stage_.trace.note(stage_.now(), {"  outside", name});
  if (!troubles.fails.empty() && is_out(name)) {
    stage_.markers.hit(Marker::outside_failed);
    throw Unavailable(stage_.dice.pick(troubles.fails), "simulated: " + std::string(name) + " cannot be done now");
  }
  if (troubles.refused != nullptr && stage_.dice.chance(stage_.plan.rates.outside_refused))
    throw Refused(troubles.refused, "simulated: " + std::string(name) + " is refused");
}

bool FlowFaults::is_out(std::string_view name) {
  const auto known = outages_.find(name);
  if (known != outages_.end() && stage_.now() < known->second && !stage_.plan.healed) return true;
  if (!stage_.dice.chance(stage_.plan.rates.outside_fails)) return false;
  if (stage_.dice.chance(200)) outages_[std::string(name)] = stage_.now() + stage_.dice.between(1s, 15s);
  return true;
}

void FlowFaults::cut_off(std::string_view name, const FlowTroubles& troubles) {
  maybe_die(name, Marker::outside_died_amid);
  if (troubles.cut_off != nullptr && stage_.dice.chance(stage_.plan.rates.outside_cut_off)) {
    stage_.markers.hit(Marker::outside_cut_off);
    stage_.trace.note(stage_.now(), {"  outside", name, "cut off"});
    throw Unavailable(troubles.cut_off, "simulated: " + std::string(name) + " was cut off");
  }
  if (troubles.refused != nullptr && stage_.dice.chance(stage_.plan.rates.outside_refused)) {
    stage_.markers.hit(Marker::outside_refused_amid);
    stage_.trace.note(stage_.now(), {"  outside", name, "refused half way"});
    throw Refused(troubles.refused, "simulated: " + std::string(name) + " is refused half way");
  }
}

void FlowFaults::end(std::string_view name, const FlowTroubles& troubles) {
  maybe_die(name, Marker::outside_died_after);
  maybe_pause();
  maybe_die(name, Marker::outside_died_after);
  if (troubles.lost == nullptr || !stage_.dice.chance(stage_.plan.rates.outside_answer_lost)) return;
  stage_.markers.hit(Marker::outside_answer_lost);
  stage_.trace.note(stage_.now(), {"  outside", name, "answer lost"});
  throw Unavailable(troubles.lost, "simulated: the answer to " + std::string(name) + " was lost");
}

}  // namespace skald::sim
