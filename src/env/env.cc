#include "skald/env.h"

#include <random>

namespace skald {
namespace {

class SystemClock final : public Clock {
 public:
  Time now() const override { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }
  Instant steady() const override { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }
};

// A generator per thread, seeded by the operating system: no lock, no contention.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override {
    thread_local std::mt19937_64 generator = [] {
      std::random_device device;
      std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
      return std::mt19937_64(seed);
    }();
    return generator();
  }
};

}  // namespace

std::unique_ptr<Clock> system_clock() { return std::make_unique<SystemClock>(); }
std::unique_ptr<Random> system_random() { return std::make_unique<SystemRandom>(); }

Observer& silent_observer() {
  static Observer observer;
  return observer;
}

}  // namespace skald
