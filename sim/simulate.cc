#include "sim/simulate.h"

#include "sim/world.h"

namespace skald::sim {

Run simulate(std::uint64_t seed, Workload workload, std::ostream* trace) {
  Run run{.seed = seed, .hash = 0, .decisions = 0, .broken = std::nullopt, .markers = {}};
  World world(seed, workload, trace);
  try {
    world.run();
  } catch (const BrokenInvariant& broken) {
    run.broken = broken;
  } catch (const std::exception& error) {
    run.broken = BrokenInvariant{"engine", std::string("an error reached the top: ") + error.what()};
  }
  run.hash = world.hash();
  run.decisions = world.decisions();
  run.markers = world.markers();
  return run;
}

}  // namespace skald::sim
