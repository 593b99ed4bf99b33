// What owners died with in their hands: narrowed, not counted (store/tables/blame.h).
#include <gmock/gmock.h>

#include "outbox/relay_fixture.h"

namespace skald::outbox {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class RelaySuspectsTest : public RelayTest {
 protected:
  // As a process that died would leave it.
  void claimed_by_dead(const std::string& id) {
    db().write("claim", [&](Transaction& tx) { tables::outbox::claim(tx, std::span(&id, 1), "dead"); });
    relay_.wake(~std::uint64_t{0});
  }
  void marked_by_dead(const std::string& id, const std::string& worker = "dead") {
    db().write("mark", [&](Transaction& tx) {
      tables::blame::mark(tx, tables::blame::Kind::event, id, worker);
      tables::blame::count_death(tx, worker);
    });
    claimed_by_dead(id);
  }
  void dies(const std::string& id, int times) {
    change("UPDATE skald_outbox SET crashes = " + std::to_string(times) + " WHERE id = '" + id + "'");
  }
  std::int64_t marks() {
    return db().read_result([](Transaction& tx) {
      return tx.query("SELECT COUNT(*) FROM skald_blame WHERE marked_by <> ''").get<std::int64_t>(0, 0);
    });
  }
  int counted(const std::string& id) {
    return db().read_result([&](Transaction& tx) {
      const auto found = tables::blame::find(tx, tables::blame::Kind::event, std::span(&id, 1));
      return found.empty() ? 0 : found.begin()->second.counted;
    });
  }
  void pass_time(Duration by) {
    clock_.at += by;
    change("UPDATE skald_outbox SET next_retry_at = 0 WHERE status = 2");
    relay_.wake(~std::uint64_t{0});
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, RelaySuspectsTest, kBothDatabases, name_of);

TEST_P(RelaySuspectsTest, AStormOfKillsParksNothingAndSpendsNoAttempt) {
  for (const char* id : {"e1", "e2", "e3"}) emit(id, "sent", id);
  for (int kills = 0; kills < 30; ++kills) {
    for (const char* id : {"e1", "e2", "e3"}) claimed_by_dead(id);
    while (status_of("e1") != EntryStatus::FAILED) relay_.run_once();
  }
  EXPECT_EQ(entry("e1").attempts, 0);
  bus_.answers = true;
  for (int turns = 0; turns < 5; ++turns, pass_time(1s)) run();
  for (const char* id : {"e1", "e2", "e3"}) EXPECT_EQ(status_of(id), EntryStatus::COMPLETED) << id;
  EXPECT_EQ(marks(), 0);
}

TEST_P(RelaySuspectsTest, OnlyOneIsMarkedAtATimeAndASlowOneHoldsUpNobodyForLong) {
  for (const char* id : {"e1", "e2", "e3"}) {
    emit(id, "sent", id);
    dies(id, tables::blame::kDeathsAlone);
  }
  run();
  EXPECT_THAT(bus_.sent, SizeIs(1)) << "alone";
  EXPECT_EQ(marks(), 1);
  clock_.at += tables::blame::alone_for(tables::blame::kDeathsAlone);
  run();
  EXPECT_THAT(bus_.sent, SizeIs(2)) << "the first has survived for now";
  EXPECT_EQ(marks(), 1);
  bus_.answers = true;
  run();
  EXPECT_THAT(bus_.sent, SizeIs(3));
  EXPECT_EQ(marks(), 0);
  for (const char* id : {"e1", "e2", "e3"}) EXPECT_EQ(entry(id).crashes, 0) << id;
}

TEST_P(RelaySuspectsTest, TheThirdDeathWithItAloneParksIt) {
  emit("e1", "local");
  emit("e2", "local", "other");
  dies("e1", tables::blame::kDeathsAlone);
  for (int deaths = 1; deaths <= 3; ++deaths) {
    marked_by_dead("e1", "dead " + std::to_string(deaths));
    EXPECT_EQ(counted("e1"), deaths);
    const int handled = handled_;
    run();
    if (deaths < 3) {
      EXPECT_EQ(status_of("e1"), EntryStatus::FAILED) << "not at once: a storm may go on";
      EXPECT_LE(handled_, handled + 1) << "e2 at most";
    }
    change("UPDATE skald_outbox SET next_retry_at = 0");
  }
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::DEAD_LETTER);
  EXPECT_EQ(status_of("e2"), EntryStatus::COMPLETED);
  EXPECT_EQ(handled_, 1);
}

TEST_P(RelaySuspectsTest, WaitsWhileASagaOfItsWorkerGoesAlone) {
  emit("e1", "local");
  dies("e1", tables::blame::kDeathsAlone);
  const auto mark_saga = [&](const char* id) {
    return db().write_result("mark", [&](Transaction& tx) {
      return tables::blame::mark(tx, tables::blame::Kind::saga, id, membership_.view()->worker);
    });
  };
  EXPECT_TRUE(mark_saga("s0"));
  EXPECT_TRUE(mark_saga("s1")) << "whoever marks it has no other of its kind";
  EXPECT_EQ(marks(), 1);
  run();
  EXPECT_EQ(handled_, 0) << "of two nobody would know which it was";
  db().write("survive", [](Transaction& tx) { tables::blame::clear(tx, tables::blame::Kind::saga, "s1"); });
  pass_time(50ms);
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED) << "nobody has to wake it";
  EXPECT_EQ(marks(), 0);
}

TEST_P(RelaySuspectsTest, IsStillMarkedWhenItRunsHoweverLateThatIs) {
  std::int64_t marks_inside = -1;
  routing_.add(Consumer{
      .name = "w", .type = "watched", .handle = [&](Transaction& tx, const Message&) {
        marks_inside = tx.query("SELECT COUNT(*) FROM skald_blame WHERE marked_by <> ''").get<std::int64_t>(0, 0);
      }});
  emit("e1", "watched");
  dies("e1", tables::blame::kDeathsAlone);
  for (int i = 0; i < 100 && marks_inside < 0; ++i) {
    relay_.wake(~std::uint64_t{0});
    relay_.run_once();
    pass_time(1s);  // a machine that hesitates between any two steps
  }
  EXPECT_EQ(marks_inside, 1);
}

TEST_P(RelaySuspectsTest, WhatRunsAndSurvivesIsCleared) {
  emit("e1", "local");
  dies("e1", tables::blame::kDeathsAlone);
  marked_by_dead("e1", "one");
  marked_by_dead("e1", "another");
  ASSERT_EQ(counted("e1"), 2);
  run();
  pass_time(1s);
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED);
  EXPECT_EQ(counted("e1"), 0);
}

TEST_P(RelaySuspectsTest, WhatACrashNoteNamesIsRunAloneAndCountedOnce) {
  emit("e1", "local");
  emit("e2", "local", "other");
  db().write("report", [&](Transaction& tx) {
    EXPECT_TRUE(tables::blame::count_report(tx, "dead", tables::blame::Kind::event, "e1"));
    EXPECT_FALSE(tables::blame::count_report(tx, "dead", tables::blame::Kind::event, "unknown"));
  });
  marked_by_dead("e1");  // the same death, as its taker sees it
  EXPECT_EQ(counted("e1"), 1);
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED) << "without a pause: it is known who it was";
  EXPECT_EQ(handled_, 2);
}

}  // namespace
}  // namespace skald::outbox
