// The PostgreSQL store where a standby is promoted: what was acknowledged is there, and no commit is guessed.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "failover/failover_load.h"
#include "support/replicated_postgres.h"

namespace skald::test {
namespace {

using Server = ReplicatedPostgres::Server;
using Commits = ReplicatedPostgres::Commits;

// Runs a second with each reading, so that patience ends after a few tries.
struct HastyClock final : Clock {
  Time now() const override { return {}; }
  Instant steady() const override { return Instant(1s * ++readings); }
  mutable std::atomic<int> readings = 0;
};

class StoreFailover : public testing::Test {
 protected:
  explicit StoreFailover(Commits commits = Commits::synchronous) : servers_(commits) {
    open(servers_.first_url())->write("create", [](Transaction& tx) {
      tx.execute("CREATE TABLE item (id TEXT NOT NULL)");
    });
  }

  std::unique_ptr<Database> open(PostgresOptions options) {
    return open_postgres({*clock_, *random_, silent_observer()}, std::move(options));
  }
  std::unique_ptr<Database> open(std::string url) {
    return open(PostgresOptions{
        .url = std::move(url), .connections = 8, .statement_timeout = 1s, .silence_beyond_statement = 500ms});
  }
  static int rows(Database& db, std::string_view id) {
    return db.read_result(
        [&](Transaction& tx) { return tx.query("SELECT count(*) FROM item WHERE id = $1", id).get<int>(0, 0); });
  }
  // Its fate can be asked for by its id and by its witness.
  static void put_with_both(Transaction& tx, std::string_view id) {
    FailoverLoad::put(tx, id);
    tx.witness("SELECT 1 FROM item WHERE id = $1", id);
  }
  // How many sessions wait for the standby with such a statement.
  static int waiting(Database& first, const std::string& statement) {
    return first
        .query_alone("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND strpos(query, $1) > 0",
                     statement)
        .get<int>(0, 0);
  }
  void await_waiting_commits(int sessions) {
    const auto first = open(servers_.first_url());
    while (waiting(*first, "COMMIT") != sessions) {}
  }
  // What is on the disk of the second server is all that is left.
  void fail_over_to_what_the_standby_has() {
    servers_.kill(Server::first);
    servers_.start(Server::second);
    servers_.promote();
  }
  static void expect_as_told(FailoverLoad& load, Database& db) {
    int unknown = 0, refused = 0;
    for (const auto& [id, told] : load.told()) {
      const int there = rows(db, id);
      ASSERT_LE(there, told == FailoverLoad::Told::refused ? 0 : 1) << id;
      ASSERT_GE(there, told == FailoverLoad::Told::committed ? 1 : 0) << id << " was acknowledged";
      unknown += told == FailoverLoad::Told::unknown;
      refused += told == FailoverLoad::Told::refused;
    }
    RecordProperty("unknown", unknown);
    RecordProperty("refused", refused);
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  ReplicatedPostgres servers_;
};

TEST_F(StoreFailover, WhatWritersWereToldIsTrueWhereThePrimaryDies) {
  const auto db = open(servers_.url());
  FailoverLoad load(*db, 6);
  load.await_commits(20);
  servers_.kill(Server::first);
  servers_.promote();
  load.await_commits(20);
  load.stop();
  expect_as_told(load, *db);
}

TEST_F(StoreFailover, WhatWritersWereToldIsTrueWhereThePrimaryStopsAndComesBack) {
  const auto db = open(servers_.url());
  FailoverLoad load(*db, 6);
  load.await_commits(20);
  servers_.freeze(Server::first);
  servers_.promote();
  load.await_commits(20);
  servers_.wake(Server::first);
  load.await_commits(20);
  load.stop();
  expect_as_told(load, *db);
  EXPECT_EQ(db->query_alone("SELECT inet_server_port()").get<int>(0, 0),
            open(servers_.second_url())->query_alone("SELECT inet_server_port()").get<int>(0, 0));
}

TEST_F(StoreFailover, AnOldPrimaryThatComesBackAcknowledgesNothing) {
  servers_.freeze(Server::first);
  servers_.promote();
  servers_.wake(Server::first);
  HastyClock hasty;
  const auto old =
      open_postgres({hasty, *random_, silent_observer()},
                    {.url = servers_.first_url(), .statement_timeout = 200ms, .silence_beyond_statement = 200ms});
  EXPECT_THROW(old->write("too late", [](Transaction& tx) { FailoverLoad::put(tx, "late"); }), CommitUnknown);
  EXPECT_EQ(rows(*open(servers_.second_url()), "late"), 0);
}

// The statement may take an hour, so nobody would give the silent server up before that.
TEST_F(StoreFailover, AWriterAtAStoppedPrimaryIsFreedByWhoeverSeesTheNewOne) {
  const auto db = open({.url = servers_.url(), .statement_timeout = 1h, .silence_beyond_statement = 500ms});
  db->query_alone("SELECT 1");
  std::promise<void> begun;
  auto writer = std::async(std::launch::async, [&] {
    db->write("stuck", [&, first = true](Transaction& tx) mutable {
      tx.query("SELECT 1");
      if (std::exchange(first, false)) {
        servers_.freeze(Server::first);
        begun.set_value();
      }
      FailoverLoad::put(tx, "stuck");
    });
  });
  begun.get_future().wait();
  servers_.promote();
  for (bool seen = false; !seen;) {
    try {
      db->query_alone("SELECT 1");
      seen = true;
    } catch (const Unavailable&) {}
  }
  writer.get();
  EXPECT_EQ(rows(*db, "stuck"), 1);
}

// A commit that the primary alone has can be seen there once its session is ended.
TEST_F(StoreFailover, ACommitThatTheStandbyHasNotIsNotAcknowledged) {
  const auto db = open({.url = servers_.url(), .statement_timeout = 300ms, .silence_beyond_statement = 200ms});
  servers_.kill(Server::second);
  auto writer = std::async(std::launch::async, [&] {
    db->write("in doubt", [](Transaction& tx) { FailoverLoad::put_witnessed(tx, "doubtful"); });
  });
  const auto local = open(servers_.first_url());
  // It looks whether its commit is there, and then whether the standby has it.
  while (writer.wait_for(0s) != std::future_status::ready && waiting(*local, "pg_logical_emit_message") == 0) {}
  fail_over_to_what_the_standby_has();
  writer.get();
  EXPECT_EQ(rows(*open(servers_.second_url()), "doubtful"), 1);
}

TEST_F(StoreFailover, ACommitWhoseWaitForTheStandbyIsCancelledIsNotAcknowledged) {
  const auto db = open({.url = servers_.url(), .statement_timeout = 1h});
  servers_.kill(Server::second);
  auto writer = std::async(std::launch::async,
                           [&] { db->write("cancelled", [](Transaction& tx) { put_with_both(tx, "cancelled"); }); });
  await_waiting_commits(1);
  open(servers_.first_url())
      ->query_alone("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  await_waiting_commits(0);
  fail_over_to_what_the_standby_has();
  writer.get();
  EXPECT_EQ(rows(*open(servers_.second_url()), "cancelled"), 1);
}

// On the new primary its id belongs to a transaction of somebody else, which has committed.
class AnIdGivenAgain : public StoreFailover {
 protected:
  // Writes by `put`; its COMMIT is lost with the primary, and asked for once its id is taken.
  void lose_commit(void (*put)(Transaction&, std::string_view)) {
    std::atomic<std::int64_t> lost_id = 0;
    PostgresOptions options{.url = servers_.url()};
    options.before_statement = [&](std::string_view sql) {
      if (sql.find("pg_xact_status") != sql.npos) take_ids_up_to(lost_id);
    };
    const auto db = open(std::move(options));
    servers_.kill(Server::second);
    auto writer = std::async(std::launch::async, [&] {
      db->write("lost", [&](Transaction& tx) {
        const auto id = tx.query("SELECT pg_current_xact_id()::text::bigint").get<std::int64_t>(0, 0);
        if (lost_id == 0) lost_id = id;
        put(tx, "lost");
      });
    });
    await_waiting_commits(1);
    fail_over_to_what_the_standby_has();
    writer.get();
  }

 private:
  void take_ids_up_to(std::int64_t id) {
    const auto other = open(servers_.second_url());
    for (std::int64_t taken = 0; taken <= id;)
      other->write("take an id", [&](Transaction& tx) {
        FailoverLoad::put(tx, "another's");
        taken = tx.query("SELECT pg_current_xact_id()::text::bigint").get<std::int64_t>(0, 0);
      });
  }
};

TEST_F(AnIdGivenAgain, LeavesACommitWithoutAWitnessUnknown) {
  EXPECT_THROW(lose_commit(&FailoverLoad::put), CommitUnknown);
  EXPECT_EQ(rows(*open(servers_.second_url()), "lost"), 0);
}

TEST_F(AnIdGivenAgain, IsNotTakenForACommitThatHasAWitness) {
  lose_commit(&put_with_both);
  EXPECT_EQ(rows(*open(servers_.second_url()), "lost"), 1);
}

class AsynchronousFailover : public StoreFailover {
 protected:
  AsynchronousFailover() : StoreFailover(Commits::asynchronous) {}
};

// It would take writes, and nobody stops it.
TEST_F(AsynchronousFailover, WhoHasSeenTheNewPrimaryWritesNothingToTheOld) {
  const auto db = open(servers_.url());
  servers_.freeze(Server::first);
  servers_.promote();
  db->write("seen", [](Transaction& tx) { FailoverLoad::put(tx, "seen"); });
  servers_.wake(Server::first);
  servers_.kill(Server::second);
  EXPECT_THROW(db->write("astray", [](Transaction& tx) { FailoverLoad::put(tx, "astray"); }), Unavailable);
  EXPECT_EQ(rows(*open(servers_.first_url()), "astray"), 0);
}

}  // namespace
}  // namespace skald::test
