// Simulated time: moved by the scheduler alone.
#pragma once

#include "skald/env.h"

namespace skald::sim {

// Steady time never runs back; the wall clock may jump either way.
class Timeline {
 public:
  Instant steady() const { return steady_; }
  Time wall() const { return wall_at_zero_ + steady_.time_since_epoch(); }
  void advance(Duration by) { steady_ += by; }
  void advance_to(Instant to) {
    if (to > steady_) steady_ = to;
  }
  void jump(Duration by) { wall_at_zero_ += by; }

 private:
  Instant steady_{std::chrono::seconds(1000)};
  Time wall_at_zero_ = from_micros(1'800'000'000'000'000);
};

// The clock of one machine, wrong by `skew`.
class SimClock final : public Clock {
 public:
  explicit SimClock(const Timeline& timeline, Duration skew = {}) : timeline_(timeline), skew_(skew) {}
  Time now() const override { return timeline_.wall() + skew_; }
  Instant steady() const override { return timeline_.steady(); }

 private:
  const Timeline& timeline_;
  Duration skew_;
};

}  // namespace skald::sim
