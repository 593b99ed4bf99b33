// Lets sessions run in turns: one baton, handed on before every round trip to
// PostgreSQL. A session that waits for a lock inside of the server is recognised
// there (pg_blocking_pids) and another goes on; when the lock becomes free, the
// waiter runs to its next switch point before anybody is given a turn. So a
// schedule decides everything, and the same schedule gives the same run.
//
// Sessions are threads; perform() starts and joins them. What a session does
// before its first round trip happens in the order of the sessions.
#pragma once

#include <libpq-fe.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interleave/schedule.h"

namespace skald::test {

// One place where somebody had to be chosen. The first option goes on with the
// session whose turn it was, if it can.
struct Decision {
  std::vector<Choice> options;
  Choice chosen;
  bool could_go_on = false;  // choosing another session was a preemption
};

struct Performance {
  std::vector<Decision> decisions;
  std::vector<std::string> trace;     // what each turn sent
  std::vector<std::string> problems;  // what no schedule may lead to
  bool diverged = false;              // the schedule named a session that could not go

  Schedule schedule() const;
};

class Conductor {
 public:
  // `url`: the sessions' server, for a connection that watches their locks.
  Conductor(const std::string& url, int sessions);

  // For PostgresOptions::before_statement. Outside of perform() it does nothing.
  static void switch_point(std::string_view sql);
  // For PostgresOptions::on_connect: one more backend of the session.
  void note_backend(int session, int pid);

  // Runs the bodies to their ends: by `schedule` as far as it goes, then without
  // preemption. Sessions in `stoppable` may be stopped for good at any switch point
  // of the backends they began with (on a later one, the server's timeout for idle
  // transactions ends them); it is a problem where that holds up another, and it is
  // one where a body throws.
  Performance perform(std::span<const std::function<void()>> bodies, const std::set<int>& stoppable,
                      const Schedule& schedule);

 private:
  enum class Where { running, waiting, done };
  struct Slot {
    Where where = Where::running;
    bool blocked = false;  // running, but in a lock's queue
    bool granted = false;
    bool stopped = false;
    std::string sql;       // what it is about to send
  };

  void wait_for_turn(int session, std::string_view sql);
  void end(int session, std::string problem);
  void settle(std::unique_lock<std::mutex>& lock);
  bool all_blocked(const std::vector<int>& sessions) const;
  void forget_dead_backends();
  std::vector<Choice> options(const std::set<int>& stoppable, std::optional<int> current) const;
  bool any(Where where) const;
  void take_turn(const Choice& choice, std::unique_lock<std::mutex>& lock);
  void go_on_without_choice(std::unique_lock<std::mutex>& lock);

  std::unique_ptr<PGconn, void (*)(PGconn*)> monitor_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<std::set<int>> backends_;  // of each session; some may be gone
  std::vector<std::set<int>> backends_at_start_;
  std::vector<Slot> slots_;
  Performance performance_;
};

}  // namespace skald::test
