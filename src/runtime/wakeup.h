// A flag that one thread sets and another waits for, among other descriptors.
#pragma once

#include <atomic>
#include <span>

#include "skald/time.h"

namespace skald::runtime {

class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void set() noexcept;              // from any thread; costs little where it is set already
  void clear() noexcept;
  int fd() const { return fd_; }
  // Until set, one of `others` is readable, or `longest` is over; clears it.
  void wait(Duration longest, std::span<const int> others = {});

 private:
  int fd_;
  std::atomic<bool> set_{false};    // a write is on its way or there
};

}  // namespace skald::runtime
