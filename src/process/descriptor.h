// A file descriptor that is closed with its owner, and pipes of them.
#pragma once

#include <string>
#include <utility>

#include "skald/time.h"

namespace skald::process {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor out, in;  // read from `out` what was written to `in`
};

// A child finds there what it is given; all of ours lie above, so that any of them can be put there.
constexpr int kLockOfSupervisor = 3;

// Takes a descriptor away from the low numbers. Throws Unavailable (NO_PROCESS).
Descriptor above_given(Descriptor descriptor);

// Both ends lie above the given ones and are closed by exec. Throws Unavailable (NO_PROCESS).
Pipe make_pipe();

void make_nonblocking(const Descriptor& descriptor);

// For poll(): in milliseconds, rounded up, a minute at most.
int poll_wait(Duration left);

// "No such file or directory"
std::string reason_of(int error);

}  // namespace skald::process
