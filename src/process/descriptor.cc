#include "process/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "skald/error.h"

namespace skald::process {

// Who has closed a standard descriptor is given its number by the next pipe.
Descriptor above_given(Descriptor descriptor) {
  if (descriptor.get() > kLockOfSupervisor) return descriptor;
  Descriptor higher(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kLockOfSupervisor + 1));
  if (!higher) throw Unavailable("NO_PROCESS", "no descriptor is free for another program: " + reason_of(errno));
  return higher;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Unavailable("NO_PROCESS", "no pipe to another program could be made: " + reason_of(errno));
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  return {above_given(std::move(pipe.out)), above_given(std::move(pipe.in))};
}

void make_nonblocking(const Descriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

int poll_wait(Duration left) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 60'000));
}

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace skald::process
