// The database as one simulated process sees it: the shared disk behind a
// connection that fails.
//
// | drawn               | what happens                                              |
// | away, busy          | Unavailable or LockTimeout before the body runs           |
// | crash before commit | the body ran, is rolled back, and the process dies        |
// | crash after commit  | everything is durable, and the process dies               |
// | commit fails        | the disk is full at COMMIT: Unavailable; nothing happened |
// | answer lost         | CommitUnknown, whether it happened or not; the sole process of SQLite writes no more until it is started again |
// | body twice          | the body runs, is undone, and runs again                  |
// | slow, freeze        | others work between this step's decision and its transaction, or between its commit and its return |
#pragma once

#include <exception>
#include <functional>

#include "sim/stage.h"

namespace skald::sim {

class FaultyDatabase final : public Database {
 public:
  // `pause` lets others run for a while; `dying` tells whether this process was
  // killed meanwhile; `wrote` hears of every commit, by its name.
  struct Wiring {
    std::function<void(Duration, bool whole_process)> pause;
    std::function<bool()> dying;
    std::function<void(std::string_view name)> wrote;
    std::function<void(std::span<const Event>)> wake_lost;
    // The process dies here; what it runs may catch everything, as an HTTP edge does.
    std::function<void()> crashes = [] {};
  };
  FaultyDatabase(Stage& stage, Wiring wiring) : FaultyDatabase(stage, std::move(wiring), stage.disk) {}
  FaultyDatabase(Stage& stage, Wiring wiring, sqlite::SqliteDatabase& disk)
      : stage_(stage), wiring_(std::move(wiring)), disk_(disk), told_(*this) {}

  void write(std::string_view name, const Body& body) override;
  void read(const Body& body) override;
  // Callers that arrive together and share one physical commit; an error each.
  std::vector<std::exception_ptr> write_together(std::span<const Body> bodies);

  bool writer_stopped() const { return writer_stopped_; }

  void migrate(std::string_view component, std::span<const Migration> steps) override {
    disk_.before_physical_commit = nullptr;  // of a process that died in a write
    disk_.migrate(component, steps);
  }
  Dialect dialect() const override { return Dialect::sqlite; }
  void set_commit_hook(CommitHook* hook) override { hook_ = hook; }
  void announce(std::span<const int>) override {}
  std::unique_ptr<Listener> listen() override { return nullptr; }

 private:
  enum class Fault {
    none,
    away,
    busy,
    crash_before,
    crash_after,
    commit_fails,
    lost_committed,
    lost_rolled_back,
    body_twice
  };

  // Holds the news of a commit back until it is known whether the answer arrives.
  struct Told final : CommitHook {
    explicit Told(FaultyDatabase& database) : db(database) {}
    void before_commit(Transaction& tx, std::span<const Event> new_events) override {
      db.hook_->before_commit(tx, new_events);
    }
    void after_commit(std::span<const Event> new_events) noexcept override {
      events.insert(events.end(), new_events.begin(), new_events.end());
    }
    FaultyDatabase& db;
    std::vector<Event> events;
  };

  // A write may come in what follows another's commit, whose news have not been told yet.
  struct OwnNews {
    explicit OwnNews(std::vector<Event>& shared) : news(shared), outer(std::exchange(shared, {})) {}
    ~OwnNews() { news = std::move(outer); }
    std::vector<Event>& news;
    std::vector<Event> outer;
  };

  struct Room {
    explicit Room(Stage& shared) : stage(shared), refusals(shared.hardware.refusals()) {}
    ~Room();
    Stage& stage;
    int refusals;
  };

  [[noreturn]] void crash();
  Fault draw(std::string_view name);
  void begin(std::string_view name, Fault fault);
  void at_physical_commit(Fault fault);
  void end(std::string_view name, Fault fault);
  void maybe_pause(std::string_view name);

  Stage& stage_;
  Wiring wiring_;
  sqlite::SqliteDatabase& disk_;
  CommitHook* hook_ = nullptr;
  Told told_;
  int physical_commits_ = 0;  // of the write under way
  bool writer_stopped_ = false;
};

}  // namespace skald::sim
