// A clock that stands until a test moves it; any thread may look.
#pragma once

#include <atomic>
#include <cstdint>

#include "skald/env.h"

namespace skald::test {

class HandClock final : public Clock {
 public:
  Time now() const override { return from_micros(micros_ + ahead_); }
  Instant steady() const override { return Instant(Duration(micros_)); }
  void advance(Duration by) { micros_ += by.count(); }
  void jump(Duration by) { ahead_ += by.count(); }  // of the wall clock alone

 private:
  std::atomic<std::int64_t> micros_ = 1'800'000'000'000'000;
  std::atomic<std::int64_t> ahead_ = 0;
};

}  // namespace skald::test
