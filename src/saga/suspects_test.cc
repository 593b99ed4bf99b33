// What workers died with in their hands: narrowed, not counted (store/tables/blame.h).
#include "saga/runner.h"
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

using tables::blame::kDeathsAlone;
using tables::blame::kGroup;

class SuspectsTest : public SagaFixture {
 protected:
  SuspectsTest() {
    know(trip_);
    runners_.push_back(runner_as("w1"));
  }
  // A worker that takes what it can in hand, and runs nothing of it.
  Runner& next_worker() {
    runners_.push_back(runner_as("w" + std::to_string(runners_.size() + 1)));
    runners_.back()->poll();
    return *runners_.back();
  }
  std::string name() const { return "w" + std::to_string(runners_.size()); }
  // As the taker does it; the pause is over at once.
  void kill_worker() {
    db().write("take over", [&](Transaction& tx) {
      tables::saga::release_all(tx, name(), true);
      tables::blame::count_death(tx, name());
    });
  }
  void no_more_pauses() {
    db().write("time", [](Transaction& tx) {
      tx.execute("UPDATE skald_saga SET wake_at = 0 WHERE owner IS NULL AND live = 1 AND status <> 'NEEDS_HELP'");
    });
  }
  int counted(const std::string& id) {
    return db().read_result([&](Transaction& tx) {
      const auto found = tables::blame::find(tx, tables::blame::Kind::saga, std::span(&id, 1));
      return found.empty() ? 0 : found.begin()->second.counted;
    });
  }
  std::int64_t marked() {
    return db().read_result([](Transaction& tx) {
      return tx.query("SELECT COUNT(*) FROM skald_blame WHERE marked_by <> ''").get<std::int64_t>(0, 0);
    });
  }
  void dies(const std::string& id, int times) {
    db().write("deaths",
               [&](Transaction& tx) { tx.execute("UPDATE skald_saga SET take_overs = $2 WHERE id = $1", id, times); });
  }

  int called_ = 0;
  std::function<void()> during_call_ = [] {};
  Saga<Trip> trip_ = Saga<Trip>("trip")
                         .remote("call",
                                 [this](Remote&, Trip&) {
                                   ++called_;
                                   std::exchange(during_call_, [] {})();
                                 })
                         .pivot();
  std::vector<std::unique_ptr<Runner>> runners_;
};
INSTANTIATE_TEST_SUITE_P(Both, SuspectsTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(SuspectsTest, AreTakenUpTogetherThenInSmallGroupsThenAlone) {
  for (std::size_t i = 0; i < 3 * kGroup; ++i) start(trip_);
  kill_worker();
  next_worker();
  EXPECT_EQ(owned_by(name()), 3 * kGroup) << "most deaths are nobody's fault";
  kill_worker();
  next_worker();
  EXPECT_EQ(owned_by(name()), kGroup);
  EXPECT_EQ(marked(), 0);
  kill_worker();
  no_more_pauses();
  Runner& last = next_worker();
  EXPECT_EQ(owned_by(name()), kGroup + 1) << "of those of the last group one, and others beside it";
  EXPECT_EQ(marked(), 1);
  settle(last);
  EXPECT_EQ(called_, 3 * kGroup);
  EXPECT_EQ(marked(), 0);
}

TEST_P(SuspectsTest, AStormOfKillsParksNoneThatIsNotAlone) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < kGroup; ++i) ids.push_back(start(trip_).id);
  for (int kills = 0; kills < 2; ++kills) {
    kill_worker();
    next_worker();
  }
  kill_worker();
  for (const std::string& id : ids) EXPECT_EQ(counted(id), 0);
  settle(next_worker());
  EXPECT_EQ(called_, kGroup);
}

TEST_P(SuspectsTest, OnlyADeathWithOneAloneCountsAndTheThirdParksIt) {
  const std::string poison = start(trip_).id;
  dies(poison, kDeathsAlone);
  for (int deaths = 1; deaths <= 3; ++deaths) {
    kill_worker();
    EXPECT_EQ(counted(poison), deaths - 1);
    no_more_pauses();
    next_worker();
    EXPECT_EQ(marked(), 1);
  }
  kill_worker();
  no_more_pauses();
  settle(next_worker());
  EXPECT_EQ(view(poison).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(view(poison).error->code, "CRASHED");
  EXPECT_TRUE(view(poison).wakes_at) << "it is tried again by itself";
  EXPECT_EQ(called_, 0);
}

TEST_P(SuspectsTest, WhatWasParkedIsTriedAgainAloneAndParkedAtOnceIfItKillsAgain) {
  const std::string poison = start(trip_).id;
  dies(poison, kDeathsAlone);
  db().write("three deaths", [&](Transaction& tx) {
    for (const char* worker : {"a", "b", "c"}) {
      tables::blame::mark(tx, tables::blame::Kind::saga, poison, worker);
      tables::blame::count_death(tx, worker);
    }
  });
  kill_worker();
  settle(next_worker());
  ASSERT_EQ(view(poison).status, SagaStatus::NEEDS_HELP);
  const auto due = [&] {
    db().write("ten minutes", [&](Transaction& tx) {
      tx.execute("UPDATE skald_saga SET wake_at = 0 WHERE id = $1 AND wake_at IS NOT NULL", poison);
    });
  };
  for (int retries = 0; retries < 3; ++retries) {
    due();
    next_worker();
    ASSERT_EQ(owned_by(name()), 1) << retries;
    EXPECT_EQ(marked(), 1);
    kill_worker();
    due();
    settle(next_worker());
    EXPECT_EQ(view(poison).status, SagaStatus::NEEDS_HELP) << retries;
  }
  EXPECT_FALSE(view(poison).wakes_at) << "from now on it is a person's";
  db().write("retry", [&](Transaction& tx) { runners_.back()->retry(tx, poison); });
  settle(*runners_.back());
  EXPECT_EQ(view(poison).status, SagaStatus::COMPLETED);
  EXPECT_EQ(counted(poison), 0);
}

TEST_P(SuspectsTest, WhatACrashNoteNamesIsCountedAtOnceAndOnce) {
  const std::string poison = start(trip_).id, innocent = start(trip_).id;
  for (int deaths = 1; deaths <= 3; ++deaths) {
    db().write("report", [&](Transaction& tx) {
      EXPECT_TRUE(tables::blame::count_report(tx, name(), tables::blame::Kind::saga, poison));
    });
    kill_worker();
    EXPECT_EQ(counted(poison), deaths) << "once, by whomever";
    next_worker();
  }
  settle(*runners_.back());
  EXPECT_EQ(view(poison).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(view(innocent).status, SagaStatus::COMPLETED);
}

TEST_P(SuspectsTest, ASlowCallOfOneHoldsUpTheOthersForAMomentOnly) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(start(trip_).id);
    dies(ids.back(), kDeathsAlone - 1);
  }
  kill_worker();
  Runner& worker = next_worker();
  ASSERT_EQ(owned_by(name()), 1);
  during_call_ = [&] {
    while (owned_by(name()) < 2) worker.poll();
    EXPECT_EQ(marked(), 1) << "the first has survived for now";
  };
  settle(worker);
  EXPECT_EQ(called_, 3);
}

TEST_P(SuspectsTest, OneThatHasNotBegunIsStillMarkedHoweverLateItBegins) {
  for (int i = 0; i < 2; ++i) dies(start(trip_).id, kDeathsAlone - 1);
  kill_worker();
  Runner& worker = next_worker();
  for (const Instant end = clock_->steady() + 2 * tables::blame::alone_for(kDeathsAlone); clock_->steady() < end;)
    worker.poll();  // nobody runs it
  EXPECT_EQ(owned_by(name()), 1);
  EXPECT_EQ(marked(), 1);
}

TEST_P(SuspectsTest, WaitsWhileAnEventOfItsWorkerGoesAlone) {
  const std::string suspect = start(trip_).id;
  dies(suspect, kDeathsAlone - 1);
  kill_worker();
  db().write("mark",
             [](Transaction& tx) { EXPECT_TRUE(tables::blame::mark(tx, tables::blame::Kind::event, "e1", "w2")); });
  Runner& worker = next_worker();
  EXPECT_EQ(owned_by(name()), 0) << "of two nobody would know which it was";
  db().write("survive", [](Transaction& tx) { tables::blame::clear(tx, tables::blame::Kind::event, "e1"); });
  settle(worker);
  EXPECT_EQ(view(suspect).status, SagaStatus::COMPLETED);
}

}  // namespace
}  // namespace skald::saga
