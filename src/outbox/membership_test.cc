// What a worker may believe of itself, and what a take-over leads to at once. When it
// comes, and who wins, is shown by sim/ and tests/interleave.
#include "outbox/membership.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "store/sqlite/database.h"
#include "store/tables/outbox.h"
#include "store/tables/saga.h"
#include "store/tables/schema.h"
#include "store/tables/worker.h"
#include "support/hand_clock.h"
#include "support/test_database.h"

namespace skald::outbox {
namespace {

class MembershipTest : public testing::Test {
 protected:
  MembershipTest() { db().migrate(tables::kComponent, tables::migrations()); }

  Database& db() { return **database_; }
  void start_saga(const std::string& owner) {
    db().write("saga", [&](Transaction& tx) {
      tables::saga::Row row;
      row.id = row.root = "s1";
      row.type = "t";
      row.owner = owner;
      row.started_at = tx.now();
      row.progress = row.state = "{}";
      tables::saga::insert(tx, row);
    });
  }

  test::HandClock clock_;
  std::unique_ptr<Random> random_ = system_random();
  Env env_{clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::postgres(env_);
  std::unique_ptr<Database> other_database_ = open_postgres(env_, {.url = database_->address(), .connections = 2});
  OutboxOptions options_;
  Membership dies_{env_, *other_database_, {"host", 1}, Membership::Kind::leased, options_};
  Membership taker_{env_, db(), {"host", 2}, Membership::Kind::leased, options_};
};

TEST_F(MembershipTest, TheSagasOfADeadWorkerAreDueWithTheVeryBeatThatTakesThemOver) {
  dies_.run_once();
  start_saga(dies_.view()->worker);
  taker_.run_once();
  for (Duration waited{}; waited < options_.lease; waited += options_.beat) {
    EXPECT_FALSE(taker_.run_once().saga_due_in);
    clock_.advance(options_.beat);
  }
  EXPECT_EQ(taker_.run_once().saga_due_in, Duration::zero());
}

TEST_F(MembershipTest, SagasThatBelongToNobodyAreDueWithTheVeryBeatThatFindsThem) {
  taker_.run_once();
  start_saga("a worker that was never seen");
  EXPECT_EQ(taker_.run_once().saga_due_in, Duration::zero());
}

TEST_F(MembershipTest, AWorkerWhoseSessionDoesNotEndHoldsUpNeitherItsTakerNorAnother) {
  const auto third_database = open_postgres(env_, {.url = database_->address(), .connections = 1});
  Membership dies_too(env_, *third_database, {"host", 3}, Membership::Kind::leased, options_);
  dies_.run_once();
  dies_too.run_once();
  taker_.run_once();
  const auto resisting = static_cast<pid_t>(other_database_->sessions().front().pid);
  ASSERT_EQ(kill(resisting, SIGSTOP), 0) << "a server of this machine, and its user's or root's";
  for (Duration waited{}; waited <= options_.lease; waited += options_.beat) {
    clock_.advance(options_.beat);
    taker_.run_once();
  }
  const auto workers = [&] { return db().read_result([](Transaction& tx) { return tables::worker::all(tx).size(); }); };
  EXPECT_EQ(workers(), 2u) << "one of the dead is gone, and the taker lives";
  EXPECT_LT(taker_.run_once().again_in, options_.beat) << "and looks again soon";
  EXPECT_TRUE(taker_.trusted());
  kill(resisting, SIGCONT);
  while (workers() > 1) taker_.run_once();
  EXPECT_EQ(taker_.view()->shares.size(), static_cast<std::size_t>(kPartitions));
}

TEST_F(MembershipTest, AWorkerWhoseBeatComesLateGoesOnWithWhatItOwned) {
  taker_.run_once();
  const auto before = taker_.view();
  ASSERT_FALSE(before->shares.empty());
  start_saga(before->worker);
  clock_.advance(options_.lease * 3);
  EXPECT_FALSE(taker_.trusted());
  for (int beats = 0; beats < 10; ++beats) {
    taker_.run_once();
    clock_.advance(options_.beat);
  }
  EXPECT_TRUE(taker_.trusted());
  EXPECT_EQ(taker_.view(), before);
  const auto saga = db().read_result([](Transaction& tx) { return tables::saga::find(tx, "s1"); });
  EXPECT_EQ(saga->take_overs, 0) << "nobody has died";
}

TEST_F(MembershipTest, AWorkerWhoseAcknowledgedBeatsAreGoneSaysThatTheDatabaseWentBack) {
  struct : Observer {
    void count(std::string_view name, std::int64_t) override { went_back += name == "database_went_back_total"; }
    int went_back = 0;
  } observer;
  Membership worker({clock_, *random_, observer}, db(), {"host", 3}, Membership::Kind::leased, options_);
  for (int beats = 0; beats < 3; ++beats) worker.run_once();
  EXPECT_EQ(observer.went_back, 0);
  db().write("lose a commit", [](Transaction& tx) { tx.execute("UPDATE skald_worker SET beat = beat - 1"); });
  worker.run_once();
  EXPECT_EQ(observer.went_back, 1);
  worker.run_once();
  EXPECT_EQ(observer.went_back, 1) << "once";
}

TEST_F(MembershipTest, AWorkerThatBeatsAtTheLastMomentIsNotTakenOver) {
  dies_.run_once();
  taker_.run_once();
  clock_.advance(options_.lease);
  const auto beat = db().read_result([](Transaction& tx) { return tables::worker::all(tx).front().beat; });
  dies_.run_once();
  db().write("take over", [&](Transaction& tx) {
    EXPECT_FALSE(tables::worker::remove_silent(tx, dies_.view()->worker, beat));
    EXPECT_TRUE(tables::worker::remove_silent(tx, dies_.view()->worker, beat + 1));
  });
}

TEST_F(MembershipTest, WhatAWorkerHasClaimedWhenItLeavesIsAsItWasBefore) {
  dies_.run_once();
  const std::string worker = dies_.view()->worker;
  start_saga(worker);
  const Event first{.id = "e1", .type = "t", .key = "k", .payload = "{}"};
  const Event again{.id = "e2", .type = "t", .key = "l", .payload = "{}"};
  db().write("claim", [&](Transaction& tx) {
    const tables::outbox::NewEntry entries[] = {{&first, "", 3}, {&again, "", 3}};
    tables::outbox::insert(tx, entries);
  });
  for (const std::vector<std::string>& ids : {std::vector<std::string>{"e1", "e2"}, {"e2"}})
    db().write("claim", [&](Transaction& tx) { tables::outbox::claim(tx, ids, worker); });
  dies_.leave(Membership::Unfinished::some);
  const auto entry = [&](const char* id) {
    return *db().read_result([&](Transaction& tx) { return tables::outbox::find(tx, id); });
  };
  EXPECT_EQ(entry("e1").status, EntryStatus::PENDING);
  EXPECT_EQ(entry("e1").attempts, 0);
  EXPECT_EQ(entry("e2").status, EntryStatus::FAILED) << "its first attempt has failed, as far as anybody knows";
  EXPECT_EQ(entry("e2").attempts, 1);
  EXPECT_EQ(entry("e2").crashes, 0);
  const auto saga = db().read_result([](Transaction& tx) { return tables::saga::find(tx, "s1"); });
  EXPECT_EQ(saga->owner, "");
  EXPECT_EQ(saga->take_overs, 0);
}

TEST(Membership, AWorkerHasNoNameUntilItHasJoined) {
  const auto clock = system_clock();
  const auto random = system_random();
  const Env env{*clock, *random, silent_observer()};
  sqlite::SqliteDatabase db(env, {.path = ":memory:", .full_sync = false});
  db.migrate(tables::kComponent, tables::migrations());
  const OutboxOptions options;
  Membership membership(env, db, {"host", 1}, Membership::Kind::sole, options);

  db.before_physical_commit = [] { throw Unavailable("DISK_FULL", "no room"); };
  EXPECT_THROW(membership.run_once(), Unavailable);
  EXPECT_EQ(membership.view()->worker, "") << "what it took under that name would be nobody's";
  EXPECT_TRUE(membership.view()->shares.empty());

  db.before_physical_commit = nullptr;
  membership.run_once();
  EXPECT_NE(membership.view()->worker, "");
  EXPECT_FALSE(membership.view()->shares.empty());
}

}  // namespace
}  // namespace skald::outbox
