// Runs a scenario in many orders: first those without preemption, then those with
// one, two, …, until all orders or `schedules_max` of them have run. Each order runs
// once. Few preemptions find most bugs, so they come first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interleave/scenario.h"
#include "interleave/schedule.h"

namespace skald::test {

struct Finding {
  std::string what;
  Schedule schedule;
  std::vector<std::string> trace;
};

struct Exploration {
  int schedules = 0;
  int preemptions = 0;            // orders with fewer than this have all run
  bool complete = false;          // all orders have run
  int diverged = 0;               // runs that did not follow their schedule
  std::optional<Finding> finding; // the first one ends it
};

Exploration explore(Stage& stage, const Scenario& scenario, int schedules_max);

// One run by `schedule`; what went wrong in it, if anything.
struct Replay {
  Performance performance;
  std::string what;
};
Replay replay(Stage& stage, const Scenario& scenario, const Schedule& schedule);

std::string report(const Scenario& scenario, const Finding& finding);

}  // namespace skald::test
