// A file descriptor that is closed with its owner, and pipes of them.
#pragma once

#include <signal.h>

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

// Both ends are closed by exec and lie above the standard ones, so that a child can put any of them there.
// Throws Unavailable (NO_PROCESS).
Pipe make_pipe();

void make_nonblocking(const Descriptor& descriptor);

// A write to a pipe that nobody reads kills the writer, unless the thread does not hear of it.
class BrokenPipesUnheard {
 public:
  BrokenPipesUnheard();
  ~BrokenPipesUnheard();
  BrokenPipesUnheard(const BrokenPipesUnheard&) = delete;
  BrokenPipesUnheard& operator=(const BrokenPipesUnheard&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

// What poll() is told to wait: a minute at most, and never "for ever".
int poll_timeout(Duration left);

// "No such file or directory"
std::string reason_of(int error);

}  // namespace skald::process
