// SQLite behind the Database interface: one process per file, one writing
// connection, many callers in one physical commit.
//
// Group commit. Callers of write() queue up; the first becomes the leader, opens
// a physical transaction, runs the queued bodies in turn, each in a savepoint,
// and commits once. Every answer, refusals too, waits for that commit: a refusal
// may rest on what a neighbour in the batch wrote. No thread is owned here.
//
// | failure                                   | what happens                       |
// | body throws                               | its savepoint is undone, it alone fails |
// | SQLite ends the transaction (disk full)   | that caller fails, the others run again |
// | COMMIT finds no room                      | nothing happened, all callers fail; the next try may succeed |
// | COMMIT fails otherwise (a sync)           | CommitUnknown; the writer stops for good (WRITER_STOPPED) |
// | a checkpoint fails                        | the commit is good; no room is told, all else stops the writer |
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "skald/database.h"
#include "store/health.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/store_clock.h"

namespace skald::sqlite {

class SqliteDatabase final : public Database, public TellsHealth {
 public:
  SqliteDatabase(Env env, SqliteOptions options);
  ~SqliteDatabase() override;

  void write(std::string_view name, const Body& body) override;
  void read(const Body& body) override;
  void migrate(std::string_view component, std::span<const Migration> steps) override;
  Dialect dialect() const override { return Dialect::sqlite; }
  StoreHealth health() const override;
  void set_commit_hook(CommitHook* hook) override { hook_ = hook; }
  void announce(std::span<const int>) override {}
  std::unique_ptr<Listener> listen() override { return nullptr; }

  // Runs the bodies in one physical transaction, as callers that arrive together
  // would; one result each. For the simulator, which has a single thread.
  std::vector<std::exception_ptr> write_together(std::span<const Body> bodies);

  // Called between the last body and COMMIT; what it throws counts as the
  // COMMIT's failure. For the simulator.
  std::function<void()> before_physical_commit;

 private:
  struct Caller;
  class OpenTransaction;
  class FileLock;

  void lead(Caller& leader);
  void follow(const Caller& caller);
  std::vector<Caller*> run_batch();
  std::vector<Caller*> run_bodies(std::vector<Caller*>& batch, std::deque<Caller*>& again);
  Caller* next_in_queue();
  enum class Fate {
    in,      // part of the open transaction
    out,     // failed, and the transaction is gone
    again    // the transaction was rolled back because of it: all of it runs again
  };
  Fate run_caller(Caller& caller, bool alone);
  std::exception_ptr commit();
  std::exception_ptr not_committed(std::exception_ptr failure);
  void checkpoint();
  void undo();
  void stop(const std::string& cause);
  void note_full(bool full);
  std::string file_name() const;
  std::string file_fields(std::string_view code) const;
  void refuse_nested() const;
  void report_slow(std::string_view name, Duration took) const;

  Env env_;
  SqliteOptions options_;
  StoreClock clock_;
  CommitHook* hook_ = nullptr;
  std::unique_ptr<FileLock> file_lock_;

  std::mutex queue_mutex_;                          // guards the two below
  std::deque<Caller*> queue_;
  bool led_ = false;                                // somebody runs batches

  std::mutex physical_;                             // taken before queue_mutex_; guards the three below
  std::unique_ptr<Connection> writer_;
  std::exception_ptr stopped_;                      // set by a failed sync
  std::size_t expected_ = 0;                        // callers in one commit, by the last

  std::mutex readers_mutex_;
  std::condition_variable reader_free_;
  int careful_ = 0;  // so many callers get a savepoint each; under physical_
  bool full_ = false;                               // the last that was to be stored found no room; so is this
  std::vector<std::unique_ptr<Connection>> readers_;

  mutable std::mutex health_mutex_;                 // taken last; guards the one below
  StoreHealth health_;
};

}  // namespace skald::sqlite
