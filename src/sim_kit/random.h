// Chance from one seed (splitmix64), the same on every machine.
#pragma once

#include <cstdint>
#include <span>

#include "skald/env.h"

namespace skald::sim {

class SimRandom final : public Random {
 public:
  explicit SimRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() override {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  int between(int low, int high) { return low + static_cast<int>(below(static_cast<std::size_t>(high - low + 1))); }
  Duration between(Duration low, Duration high) {
    return low + Duration(static_cast<std::int64_t>(below(static_cast<std::size_t>((high - low).count() + 1))));
  }
  // No draw at all for what never happens, so that healing changes nothing else.
  bool chance(int per_mille) { return per_mille > 0 && between(0, 999) < per_mille; }
  template <class C>
  auto& pick(C& from) {
    return from[below(std::size(from))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace skald::sim
