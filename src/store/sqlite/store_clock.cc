#include "store/sqlite/store_clock.h"

#include <string>

namespace skald::sqlite {
namespace {

constexpr Duration kJumpMax = std::chrono::minutes(1);

}  // namespace

StoreClock::StoreClock(Env env) : env_(env), last_(env.clock.now()), last_steady_(env.clock.steady()) {}

Time StoreClock::now() {
  const std::lock_guard lock(mutex_);
  const Instant steady = env_.clock.steady();
  const Time wall = env_.clock.now();
  last_ += steady - last_steady_;
  last_steady_ = steady;
  const Duration ahead = wall - last_;
  if (ahead > Duration::zero() && ahead <= kJumpMax) last_ = wall;
  tell(ahead);
  return last_;
}

// When it begins, and when it is over.
void StoreClock::tell(Duration ahead) {
  const bool apart = ahead > kJumpMax || ahead < -kJumpMax;
  if (apart == apart_) return;
  apart_ = apart;
  if (!apart) {
    env_.observer.log(Observer::Level::info, "the machine's clock agrees with database time again");
    return;
  }
  env_.observer.count("store_clock_jumps_total");
  env_.observer.log(
      Observer::Level::error,
      "the machine's clock has jumped, and database time does not follow it; put the clock right, or restart this "
      "process where it is right now",
      "\"code\":\"CLOCK_JUMP\",\"aheadSeconds\":" +
          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(ahead).count()));
}

}  // namespace skald::sqlite
