#include "sim/simulate.h"

#include "sim/agentflow/flow_world.h"
#include "sim/booking_world.h"
#include "sim/post_world.h"
#include "sim/world.h"

namespace skald::sim {

namespace {

template <class W>
Run run_in(std::uint64_t seed, Workload workload, std::ostream* trace) {
  Run run{.seed = seed, .hash = 0, .decisions = 0, .broken = std::nullopt, .markers = {}};
  W world(seed, workload, trace);
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

}  // namespace

Run simulate(std::uint64_t seed, Workload workload, std::ostream* trace) {
  switch (workload) {
    case Workload::booking: return run_in<BookingWorld>(seed, workload, trace);
    case Workload::post: return run_in<PostWorld>(seed, workload, trace);
    case Workload::agentflow: return run_in<FlowWorld>(seed, workload, trace);
    default: return run_in<World>(seed, workload, trace);
  }
}

}  // namespace skald::sim
