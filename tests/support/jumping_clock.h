// The system's time with a wall clock that a test may put forward and back; any thread may look.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "skald/env.h"

namespace skald::test {

class JumpingClock final : public Clock {
 public:
  Time now() const override { return real_->now() + Duration(ahead_); }
  Instant steady() const override { return real_->steady(); }
  void jump(Duration by) { ahead_ += by.count(); }

 private:
  std::unique_ptr<Clock> real_ = system_clock();
  std::atomic<std::int64_t> ahead_ = 0;
};

}  // namespace skald::test
