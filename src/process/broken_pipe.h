// Writing to a program that may have gone.
#pragma once

#include <signal.h>

#include <cerrno>

namespace skald::process {

// A write to a pipe that nobody reads kills the writer, unless the thread does not hear of it.
class BrokenPipesUnheard {
 public:
  BrokenPipesUnheard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BrokenPipesUnheard() {
    const timespec at_once{};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BrokenPipesUnheard(const BrokenPipesUnheard&) = delete;
  BrokenPipesUnheard& operator=(const BrokenPipesUnheard&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

}  // namespace skald::process
