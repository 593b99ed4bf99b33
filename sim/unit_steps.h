// The rounds of an engine without threads, as the scheduler calls them, and when they want to be called early. One that was
// woken and could not go on comes again by itself.
#pragma once

#include <optional>

#include "runtime/steps.h"
#include "sim/sim_courier.h"
#include "sim/stage.h"

namespace skald::sim {

class UnitSteps {
 public:
  // All of them outlive it.
  UnitSteps(Stage& stage, Engine& engine, const SimCourier& courier)
      : stage_(stage), steps_(engine), courier_(courier) {}

  // What cannot be written down at its start keeps a service from coming up; so nothing fails here.
  void subscribe();
  Duration beat();
  Duration relay();
  Duration post();
  Duration jobs() { return steps_.jobs(); }
  std::optional<Instant> wants_relay() const;
  std::optional<Instant> wants_post() const;

  bool relay_idle() const { return steps_.relay_idle(); }
  void drain() { steps_.drain(); }
  void leave() { steps_.leave(); }

 private:
  Stage& stage_;
  runtime::Steps steps_;
  const SimCourier& courier_;
  bool relay_wake_seen_ = false, post_wake_seen_ = false;
};

}  // namespace skald::sim
