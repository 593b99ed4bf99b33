// One change of a repository at a time: git's own lock files make the second of two fail. Threads of this process stand
// in line; other processes are kept out by a lock on the file skald.lock in the repository's git folder, which ends with
// its holder.
//
// Thread safe.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "skald/env.h"

namespace agentflow {

class RepositoryLocks {
 public:
  RepositoryLocks(const skald::Env& env, skald::Duration wait_max) : env_(env), wait_max_(wait_max) {}
  RepositoryLocks(const RepositoryLocks&) = delete;
  RepositoryLocks& operator=(const RepositoryLocks&) = delete;

  // Frees it at its end. Must not outlive the locks.
  class Held {
   public:
    Held(RepositoryLocks& locks, std::string common) : locks_(&locks), common_(std::move(common)) {}
    Held(Held&& other) noexcept
        : locks_(std::exchange(other.locks_, nullptr)),
          common_(std::move(other.common_)),
          file_(std::exchange(other.file_, -1)) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    friend class RepositoryLocks;
    RepositoryLocks* locks_;
    std::string common_;
    int file_ = -1;
  };

  // `common`: the folder that all worktrees of the repository share. Unavailable (GIT_BUSY) after the longest wait.
  Held hold(const std::string& common);

 private:
  struct Line {
    bool taken = false;
    int interested = 0;
    std::condition_variable free;
  };
  void enter(const std::string& common);
  void leave(const std::string& common);

  skald::Env env_;
  skald::Duration wait_max_;
  std::mutex mutex_;
  std::map<std::string, Line> lines_;
};

// Waits until nobody else holds a flock() on the open file. Unavailable (GIT_BUSY) at `end`.
void lock_file(const skald::Clock& clock, int file, const std::string& name, skald::Instant end);

}  // namespace agentflow
