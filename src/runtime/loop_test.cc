#include "runtime/loop.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace skald::runtime {
namespace {

// A bus's poll is such a wait, and it may throw like any step.
TEST(Loop, GoesOnWhereItsWaitThrows) {
  const auto clock = system_clock();
  const auto random = system_random();
  std::mutex mutex;
  std::condition_variable changed;
  int steps = 0, waits = 0;
  Loop loop(
      {*clock, *random, silent_observer()}, "polling",
      [&]() -> Duration {
        std::lock_guard lock(mutex);
        ++steps;
        changed.notify_all();
        return 1h;
      },
      [&](Duration longest, Wakeup& wakeup) {
        {
          std::lock_guard lock(mutex);
          if (++waits == 1) throw std::runtime_error("the descriptor is gone");
        }
        wakeup.wait(longest);
      });
  loop.start();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 30s, [&] { return steps >= 2; })) << "after a pause it is called again";
  lock.unlock();
  loop.wake();
  loop.stop();
  EXPECT_GE(waits, 1);
}

}  // namespace
}  // namespace skald::runtime
