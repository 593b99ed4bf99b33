// Order processes on one PostgreSQL and one provider, which are killed and frozen. Only
// the thread that made it may do that; ports may be asked for by any.
#pragma once

#include <atomic>
#include <list>
#include <string>
#include <vector>

#include "chaos/watcher.h"
#include "crash/scene.h"

namespace skald::chaos {

class OrderWorkers {
 public:
  explicit OrderWorkers(std::size_t count);

  std::size_t size() const { return slots_.size(); }
  std::uint16_t port(std::size_t worker) const { return slots_[worker].port; }
  crash::ServedProcess& at(std::size_t worker) { return *slots_[worker].process; }
  crash::Scene& scene() { return scene_; }
  Watcher& watcher() { return watcher_; }

  // SIGKILL, and another in its place.
  void kill(std::size_t worker);
  // SIGSTOP where that catches it inside of a transaction; woken once it is taken over.
  // False: it was not caught.
  bool freeze(std::size_t worker);
  // Looks which of them have been taken over, and wakes the frozen.
  void look();
  bool all_taken_over() const { return gone_.empty(); }

  // From death, or from being stopped, to the take-over, in seconds.
  const std::vector<double>& after_death() const { return after_death_; }
  const std::vector<double>& after_freeze() const { return after_freeze_; }

 private:
  struct Slot {
    std::unique_ptr<crash::ServedProcess> process;
    std::atomic<std::uint16_t> port{0};
    bool frozen = false;
  };
  struct Gone {
    pid_t pid;
    Slot* frozen;                  // null: it is dead
    std::chrono::steady_clock::time_point since;
  };
  void start(Slot& slot);

  crash::Scene scene_{Dialect::postgres, {.call_timeout_ms = 500}};
  std::vector<Slot> slots_;
  Watcher watcher_{scene_.database()};
  std::list<Gone> gone_;
  std::vector<double> after_death_, after_freeze_;
};

}  // namespace skald::chaos
