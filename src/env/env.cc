#include "skald/env.h"

#include <time.h>

#include <random>

namespace skald {
namespace {

class SystemClock final : public Clock {
 public:
  Time now() const override { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }
  // With the time in which the machine sleeps: leases and deadlines end meanwhile, and the wall
  // clock has not jumped.
  Instant steady() const override {
    timespec since_boot{};
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    return Instant(std::chrono::floor<Duration>(std::chrono::seconds(since_boot.tv_sec) +
                                                std::chrono::nanoseconds(since_boot.tv_nsec)));
  }
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
