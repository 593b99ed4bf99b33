// Planted bugs: each breaks one rule of the engine, and some invariant must notice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "env/seam.h"
#include "sim/plan.h"

namespace skald::sim {

struct PlantedBug {
  seam::Rule rule;
  std::string_view name;       // of the rule
  std::string_view sentence;   // what is broken
  Workload workload = Workload::outbox;
};

// Those that the simulator can catch; the interleaver on PostgreSQL has the others.
std::span<const PlantedBug> planted_bugs();

// While it lives, seam::holds(rule) is false.
class Broken {
 public:
  explicit Broken(seam::Rule rule);
  ~Broken();
  Broken(const Broken&) = delete;
  Broken& operator=(const Broken&) = delete;
};

struct Caught {
  std::string invariant, text;
  std::uint64_t seed = 0;
  int seeds = 0;               // how many it took
};
// The rarest want more than a thousand.
inline constexpr int kHuntSeedsMax = 2000;
std::optional<Caught> hunt(const PlantedBug& bug, std::uint64_t first, int seeds_max);

}  // namespace skald::sim
