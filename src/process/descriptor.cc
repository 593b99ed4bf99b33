#include "process/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace skald::process
