// What the scenarios play on: one new PostgreSQL database with the engine's
// tables, and a Database per session whose round trips the conductor orders.
//
// Triggers watch what no session can be trusted to tell: under which owner each
// change of an entry or effect was committed, and each change of an owner.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "interleave/conductor.h"
#include "skald/database.h"
#include "support/test_database.h"

namespace skald::test {

// Stands still until it is moved.
class StageClock final : public Clock {
 public:
  Time now() const override { return from_micros(kStart + moved_); }
  Instant steady() const override { return Instant(Duration(moved_)); }
  void move(Duration by) { moved_ += by.count(); }

 private:
  static constexpr std::int64_t kStart = 1'800'000'000'000'000;
  std::atomic<std::int64_t> moved_ = 0;
};

class StageRandom final : public Random {
 public:
  std::uint64_t next() override { return 0x9e3779b97f4a7c15 * ++drawn_; }

 private:
  std::atomic<std::uint64_t> drawn_ = 0;
};

class Stage {
 public:
  static constexpr int kSessions = 3;

  Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Of one session; a play may also use them to prepare, outside of turns.
  Database& db(int session) { return *sessions_[static_cast<std::size_t>(session)]; }
  StageClock& clock(int session) { return clocks_[session]; }
  Env env(int session) { return {clock(session), random_, silent_observer()}; }
  // Unobserved, for preparing and checking.
  Database& admin() { return *admin_; }
  Conductor& conductor() { return *conductor_; }
  const std::string& url() const { return server_.url(); }

  // Empty tables, no owners, and a single partition: the one of `key`.
  void reset(std::string_view key);

  // The effects so far, "e1 e2", in the order of their rows.
  std::string effects();
  static void put_effect(Transaction& tx, std::string_view event_id, std::string_view key);
  std::int64_t count(std::string_view sql);
  // What the triggers saw that must not be, given each session's worker; empty
  // where all is well.
  std::string fence_broken(const std::vector<std::string>& workers);

 private:
  std::unique_ptr<Database> open(int session);

  std::unique_ptr<Clock> real_clock_ = system_clock();
  StageClock clocks_[kSessions];
  StageRandom random_;
  ScratchPostgres server_;
  std::unique_ptr<Database> admin_;
  std::unique_ptr<Conductor> conductor_;
  std::vector<std::unique_ptr<Database>> sessions_;
};

}  // namespace skald::test
