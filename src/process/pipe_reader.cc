#include "process/pipe_reader.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace skald::process {

PipeReader::PipeReader(Descriptor from, Take take) : from_(std::move(from)), take_(std::move(take)) {
  make_nonblocking(from_);
}

void PipeReader::read_rest() {
  int there = 0;
  if (!from_ || ioctl(from_.get(), FIONREAD, &there) != 0) return;
  for (std::size_t left = static_cast<std::size_t>(std::max(there, 0)); left > 0;) {
    const std::size_t got = read_up_to(left);
    if (got == 0) return;
    left -= got;
  }
}

std::size_t PipeReader::read_up_to(std::size_t bytes_max) {
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  while ((got = read(from_.get(), buffer.data(), std::min(buffer.size(), bytes_max))) < 0 && errno == EINTR) {}
  if (got < 0 && errno == EAGAIN) return 0;
  if (got <= 0) {
    from_.close();
    return 0;
  }
  take_({buffer.data(), static_cast<std::size_t>(got)});
  return static_cast<std::size_t>(got);
}

}  // namespace skald::process
