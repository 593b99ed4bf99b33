#include "agentflow/git/lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "skald/error.h"

namespace agentflow {
namespace {

constexpr int kPauseMaxMs = 8;

[[noreturn]] void throw_busy(const std::string& name) {
  throw skald::Unavailable("GIT_BUSY", "another call works on the repository at " + name + "; try again");
}

}  // namespace

void lock_file(const skald::Clock& clock, int file, const std::string& name, skald::Instant end) {
  for (int pause = 1; flock(file, LOCK_EX | LOCK_NB) != 0; pause = std::min(pause * 2, kPauseMaxMs)) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      throw skald::Unavailable("GIT_BUSY", "cannot lock " + name + ": " + std::strerror(errno));
    if (clock.steady() >= end) throw_busy(name);
    poll(nullptr, 0, pause);
  }
}

RepositoryLocks::Held::~Held() {
  if (file_ >= 0) close(file_);
  if (locks_) locks_->leave(common_);
}

RepositoryLocks::Held RepositoryLocks::hold(const std::string& common) {
  const skald::Instant end = env_.clock.steady() + wait_max_;
  enter(common);
  Held held(*this, common);
  const std::string name = common + "/skald.lock";
  held.file_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
  if (held.file_ < 0)
    throw skald::Refused("NO_REPOSITORY", "cannot write to the repository at " + common + " (" + std::strerror(errno) +
                                              "); give this server the right to");
  lock_file(env_.clock, held.file_, common, end);
  return held;
}

void RepositoryLocks::enter(const std::string& common) {
  std::unique_lock guard(mutex_);
  Line& line = lines_[common];
  ++line.interested;
  if (line.free.wait_for(guard, wait_max_, [&] { return !line.taken; })) {
    line.taken = true;
    return;
  }
  if (--line.interested == 0) lines_.erase(common);
  throw_busy(common);
}

void RepositoryLocks::leave(const std::string& common) {
  const std::lock_guard guard(mutex_);
  Line& line = lines_.at(common);
  line.taken = false;
  if (--line.interested == 0) lines_.erase(common);
  else line.free.notify_one();
}

}  // namespace agentflow
