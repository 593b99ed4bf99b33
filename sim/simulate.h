// One run from one seed.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>

#include "sim/markers.h"
#include "sim/plan.h"
#include "sim/signals.h"

namespace skald::sim {

struct Run {
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;      // of every decision and its outcome
  int decisions = 0;
  std::optional<BrokenInvariant> broken;
  Markers markers;
};

// Deterministic: the same seed gives the same run. `trace` gets every decision.
Run simulate(std::uint64_t seed, Workload workload, std::ostream* trace = nullptr);

}  // namespace skald::sim
