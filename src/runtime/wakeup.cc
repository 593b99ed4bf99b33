#include "runtime/wakeup.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <vector>

namespace skald::runtime {

Wakeup::Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Wakeup::~Wakeup() { ::close(fd_); }

void Wakeup::set() noexcept {
  if (set_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);  // a full counter is set, too
}

// Read first: the other way round a write in between would be read away with the flag up,
// and nobody would write again. Who finds the flag up here has told its news before that.
void Wakeup::clear() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(fd_, &count, sizeof count);
  set_ = false;
}

void Wakeup::wait(Duration longest, std::span<const int> others) {
  std::vector<pollfd> fds{{fd_, POLLIN, 0}};
  for (int fd : others) fds.push_back({fd, POLLIN, 0});
  const auto micros = std::max<std::int64_t>(longest.count(), 0);
  const timespec timeout{.tv_sec = static_cast<time_t>(micros / 1'000'000),
                         .tv_nsec = static_cast<long>(micros % 1'000'000 * 1000)};
  ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
  if (fds.front().revents != 0) clear();
}

}  // namespace skald::runtime
