#include "process/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>

#include "skald/error.h"

namespace skald::process {
namespace {

// Who has closed a standard descriptor is given its number by the next pipe.
Descriptor above_standard(Descriptor descriptor) {
  if (descriptor.get() > STDERR_FILENO) return descriptor;
  Descriptor higher(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!higher) throw Unavailable("NO_PROCESS", "no descriptor is free for a pipe: " + reason_of(errno));
  return higher;
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Unavailable("NO_PROCESS", "no pipe to another program could be made: " + reason_of(errno));
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  return {above_standard(std::move(pipe.out)), above_standard(std::move(pipe.in))};
}

void make_nonblocking(const Descriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

BrokenPipesUnheard::BrokenPipesUnheard() {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  sigset_t pending;
  sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

BrokenPipesUnheard::~BrokenPipesUnheard() {
  const timespec at_once{};
  if (!was_pending_)
    while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {}
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int poll_timeout(Duration left) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 60'000));
}

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace skald::process
