#include "agentflow/git/stale_lock.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skald/error.h"

namespace agentflow {
namespace {

constexpr skald::Duration kStaleAfter = std::chrono::seconds(10);
constexpr int kLookEveryMs = 20;

bool is_same_lock(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

}  // namespace

std::optional<std::string> git_lock_in_the_way(std::string_view words, const GitPlace& place) {
  constexpr std::string_view kBefore = "Unable to create '", kAfter = ".lock': File exists";
  const std::size_t from = words.find(kBefore), to = words.find(kAfter);
  if (from == words.npos || to == words.npos || to < from) return std::nullopt;
  std::string lock(words.substr(from + kBefore.size(), to - from - kBefore.size()));
  lock += ".lock";
  const bool ours = lock.starts_with(place.git_dir + "/") || lock.starts_with(place.common + "/");
  if (!ours || lock.find("/../") != lock.npos) return std::nullopt;
  return lock;
}

void await_git_lock(const skald::Clock& clock, const std::string& lock, skald::Instant end) {
  struct stat known{};
  skald::Instant known_since{};
  for (;;) {
    struct stat found{};
    if (lstat(lock.c_str(), &found) != 0) return;
    const skald::Instant now = clock.steady();
    if (!is_same_lock(known, found)) {
      known = found;
      known_since = now;
    }
    if (now - known_since > kStaleAfter) {
      unlink(lock.c_str());
      return;
    }
    if (now >= end)
      throw skald::Unavailable("GIT_BUSY",
                               "another git holds " + lock + "; wait for it to end, or remove that file if none runs");
    poll(nullptr, 0, kLookEveryMs);
  }
}

}  // namespace agentflow
