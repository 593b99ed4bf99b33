// PostgreSQL behind the Database interface: see transaction.h for its round
// trips, failure.h for what each error means.
//
// | failure                                     | what write() does                  |
// | deadlock, serialization                     | runs the body again, at most 10 times |
// | connection lost before COMMIT was sent      | runs it again on another, at most 3 times |
// | the body paused too long (IDLE_IN_TRANSACTION) | runs it again, once             |
// | connection lost after COMMIT was sent       | asks the server what became of it (commit_fate.h) |
// | lock timeout, constraint, SQL error         | rolls back and throws              |
//
// No thread is owned here. Thread safe.
#pragma once

#include <atomic>
#include <mutex>

#include "skald/database.h"
#include "store/postgres/announcer.h"
#include "store/postgres/commit_fate.h"
#include "store/postgres/pool.h"

namespace skald::postgres {

class PostgresTransaction;
struct Sequel;

class PostgresDatabase final : public Database {
 public:
  PostgresDatabase(Env env, PostgresOptions options);

  void write(std::string_view name, const Body& body) override;
  void read(const Body& body) override;
  void migrate(std::string_view component, std::span<const Migration> steps) override;
  Dialect dialect() const override { return Dialect::postgres; }
  void set_commit_hook(CommitHook* hook) override { hook_ = hook; }

  void announce(std::span<const int> partitions) override { announcer_.announce(partitions); }
  void set_announcement_waker(std::function<void()> waker) override { announcer_.set_waker(std::move(waker)); }
  bool flush_announcements() override { return announcer_.flush(); }
  std::unique_ptr<Listener> listen() override;

  std::vector<Session> sessions() const override { return pool_.sessions(); }
  bool end_sessions(std::span<const Session> sessions) override;

 protected:
  Rows run_alone(std::string_view sql, std::span<const Param> params) override;

 private:
  // How often a body may still be run again.
  struct Chances {
    int rolled_back = 10;
    int lost = 3;
    int idle = 1;  // the process may have been stopped; code that pauses does so again
    bool take(Failure kind) {
      return --(kind == Failure::connection_lost ? lost : kind == Failure::idle_too_long ? idle : rolled_back) >= 0;
    }
  };
  // What one run of a body came to.
  enum class Outcome { done, again, commit_lost };

  Outcome run_write(std::string_view name, const Body& body, Chances& chances, Sequel& sequel, std::vector<int>& told,
                    LostCommit& lost, Duration silence_max);
  std::vector<int> tell_along(PostgresTransaction& tx);
  bool pooled() const { return !options_.listen_url.empty(); }
  void must_lead_to_one_database();
  void write_patiently(std::string_view name, const Body& body, Duration silence_max);
  bool run_read(const Body& body, Chances& chances);
  void note_retry(std::string_view name, const Failed& failed) const;

  const Env env_;
  const PostgresOptions options_;
  const ConnectSettings settings_;
  std::atomic<CommitHook*> hook_ = nullptr;
  Pool pool_;
  Announcer announcer_;
  // Apart from the pool: a heartbeat must not wait behind busy handlers. It is also the first to notice a server that
  // has stopped answering.
  std::mutex alone_mutex_;
  std::unique_ptr<Connection> alone_;
};

}  // namespace skald::postgres
