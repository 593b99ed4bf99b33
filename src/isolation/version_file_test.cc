#include "skald/version_file.h"

#include "isolation/isolation_fixture.h"

namespace skald::test {
namespace {

constexpr const char* kLamp = "product/lamp";

class Versions : public IsolationTest {
 protected:
  // What was applied, in order: "1:RESERVE 2:CANCEL".
  void SetUp() override {
    IsolationTest::SetUp();
    db().write("log", [](Transaction& tx) {
      tx.execute("CREATE TABLE applied (n BIGINT PRIMARY KEY, seq BIGINT NOT NULL, action TEXT NOT NULL)");
    });
  }
  std::string applied() {
    return db().read_result([](Transaction& tx) {
      std::string out;
      const Rows rows = tx.query("SELECT seq, action FROM applied ORDER BY n");
      for (std::size_t i = 0; i < rows.size(); ++i)
        out += (i > 0 ? " " : "") + std::to_string(rows.get<std::int64_t>(i, 0)) + ":" + rows.get<std::string>(i, 1);
      return out;
    });
  }
  std::int64_t append(const std::string& action, std::int64_t amount = 1, const std::string& saga = "s1") {
    return db().write_result("append", [&](Transaction& tx) { return file_.append(tx, kLamp, saga, action, amount); });
  }
  Arrival arrive(std::int64_t seq, const std::string& action, std::int64_t amount = 1) {
    return db().write_result("arrive", [&](Transaction& tx) {
      return file_.arrive(tx, {.resource = kLamp, .seq = seq, .saga_id = "s1", .action = action, .amount = amount});
    });
  }
  void settle(std::int64_t seq, const std::string& saga, VersionStatus status) {
    db().write("settle", [&](Transaction& tx) { file_.settle(tx, kLamp, seq, saga, status); });
  }
  std::vector<VersionGap> gaps() {
    return db().read_result([&](Transaction& tx) { return file_.gaps(tx, kLamp); });
  }
  std::int64_t replayed_sum(std::int64_t from = 1) {
    return db().read_result([&](Transaction& tx) {
      std::int64_t sum = 0;
      file_.replay(tx, kLamp, from,
                   [&](const VersionEntry& entry) { sum += entry.action == "RESERVE" ? entry.amount : -entry.amount; });
      return sum;
    });
  }

  const VersionFile file_{[](Transaction& tx, const VersionEntry& entry) {
    if (entry.action == "POISON") throw Refused("POISON", "no");
    tx.execute("INSERT INTO applied (n, seq, action) SELECT count(*) + 1, $1, $2 FROM applied", entry.seq,
               entry.action);
  }};
};
SKALD_ON_EVERY_STORE(Versions);

TEST_P(Versions, NumbersAndAppliesWhatIsAppended) {
  EXPECT_EQ(append("RESERVE", 3), 1);
  EXPECT_EQ(append("CONFIRM", 3), 2);
  EXPECT_EQ(applied(), "1:RESERVE 2:CONFIRM");
  const auto trail = db().read_result([&](Transaction& tx) { return file_.entries(tx, kLamp); });
  ASSERT_EQ(trail.size(), 2u);
  EXPECT_EQ(trail[0].saga_id, "s1");
  EXPECT_EQ(trail[0].amount, 3);
  EXPECT_EQ(trail[0].status, VersionStatus::PENDING);
  EXPECT_GT(trail[0].at, Time{});
}

TEST_P(Versions, NumbersEachResourceByItself) {
  EXPECT_EQ(append("RESERVE"), 1);
  db().write("other", [&](Transaction& tx) { EXPECT_EQ(file_.append(tx, "product/bulb", "s1", "RESERVE", 9), 1); });
  EXPECT_EQ(append("CONFIRM"), 2);
  EXPECT_EQ(replayed_sum(), 0);
}

TEST_P(Versions, KeepsWhatComesTooEarlyAndAppliesItInOrder) {
  EXPECT_EQ(arrive(3, "CANCEL"), Arrival::kept);
  EXPECT_EQ(arrive(5, "RESTOCK"), Arrival::kept);
  EXPECT_EQ(arrive(1, "RESERVE"), Arrival::applied);
  EXPECT_EQ(applied(), "1:RESERVE");
  EXPECT_EQ(gaps(), (std::vector<VersionGap>{{2, 2}, {4, 4}}));
  EXPECT_EQ(arrive(2, "CONFIRM"), Arrival::applied);
  EXPECT_EQ(applied(), "1:RESERVE 2:CONFIRM 3:CANCEL");
  EXPECT_EQ(gaps(), (std::vector<VersionGap>{{4, 4}}));
  EXPECT_EQ(append("RESERVE"), 6) << "behind the highest that is known";
  EXPECT_EQ(arrive(4, "CANCEL"), Arrival::applied);
  EXPECT_EQ(applied(), "1:RESERVE 2:CONFIRM 3:CANCEL 4:CANCEL 5:RESTOCK 6:RESERVE");
  EXPECT_TRUE(gaps().empty());
}

TEST_P(Versions, AppliesMoreKeptEntriesThanFitOnAPage) {
  db().write("arrive", [&](Transaction& tx) {
    for (std::int64_t seq = 600; seq > 1; --seq)
      file_.arrive(tx, {.resource = kLamp, .seq = seq, .saga_id = "s1", .action = "RESERVE", .amount = 2});
  });
  EXPECT_EQ(gaps(), (std::vector<VersionGap>{{1, 1}}));
  EXPECT_EQ(arrive(1, "RESERVE", 2), Arrival::applied);
  EXPECT_EQ(db().read_result([&](Transaction& tx) { return file_.applied(tx, kLamp); }), 600);
  EXPECT_EQ(count("SELECT count(*) FROM applied WHERE seq = n"), 600);
  EXPECT_EQ(replayed_sum(), 1200);
  EXPECT_EQ(replayed_sum(599), 4);
}

TEST_P(Versions, ADuplicateIsNotAppliedAgain) {
  arrive(1, "RESERVE", 3);
  arrive(3, "CANCEL", 3);
  EXPECT_EQ(arrive(1, "RESERVE", 3), Arrival::repeated);
  EXPECT_EQ(arrive(3, "CANCEL", 3), Arrival::repeated);
  EXPECT_EQ(applied(), "1:RESERVE");
  expect_error<Conflict>("VERSION_TAKEN", [&] { arrive(1, "RESERVE", 4); });
}

TEST_P(Versions, ReplayLeavesOutWhatIsBehindAGap) {
  arrive(1, "RESERVE", 5);
  arrive(2, "CANCEL", 2);
  arrive(4, "RESERVE", 100);
  EXPECT_EQ(replayed_sum(), 3);
}

TEST_P(Versions, ReplayFindsAnEntryThatWasTakenOutOfTheTrail) {
  for (int i = 0; i < 3; ++i) append("RESERVE");
  db().write("tamper", [](Transaction& tx) { tx.execute("DELETE FROM skald_version_entry WHERE seq = 2"); });
  EXPECT_NE(expect_error<Corrupt>("VERSION_HOLE", [&] { replayed_sum(); }).find("version 2"), std::string::npos);
}

TEST_P(Versions, AnEntryIsSettledOnceAndByItsOwnSaga) {
  append("RESERVE");
  expect_error<Refused>("INVALID_SAGA", [&] { settle(1, "s2", VersionStatus::COMPLETED); });
  settle(1, "s1", VersionStatus::COMPENSATED);
  settle(1, "s1", VersionStatus::COMPENSATED);
  expect_error<Conflict>("VERSION_SETTLED", [&] { settle(1, "s1", VersionStatus::COMPLETED); });
  expect_error<NotFound>("NO_VERSION", [&] { settle(2, "s1", VersionStatus::COMPLETED); });
  expect_error<Invalid>("BAD_VERSION", [&] { settle(1, "s1", VersionStatus::PENDING); });
  const auto entry = db().read_result([&](Transaction& tx) { return file_.entries(tx, kLamp).at(0); });
  EXPECT_EQ(entry.status, VersionStatus::COMPENSATED);
  EXPECT_GT(entry.settled_at, Time{});
}

TEST_P(Versions, ARefusedEntryLeavesNothingBehind) {
  EXPECT_THROW(append("POISON"), Refused);
  EXPECT_EQ(append("RESERVE"), 1);
  EXPECT_EQ(applied(), "1:RESERVE");
}

TEST_P(Versions, RefusesEntriesWithoutNumberOrName) {
  expect_error<Invalid>("BAD_VERSION", [&] { arrive(0, "RESERVE"); });
  expect_error<Invalid>("BAD_VERSION", [&] { append(""); });
}

TEST_P(Versions, ManyAtOnceLeaveNoHoleThoughSomeRollBack) {
  run_threads(6, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      try {
        db().write("append", [&](Transaction& tx) {
          file_.append(tx, kLamp, "s" + std::to_string(thread), "RESERVE", 1);
          if (i % 4 == 3) throw Refused("NO", "no");
        });
      } catch (const Refused&) {}
    }
  });
  EXPECT_EQ(count("SELECT count(*) FROM skald_version_entry"), 90);
  EXPECT_EQ(count("SELECT max(seq) FROM skald_version_entry"), 90);
  EXPECT_EQ(count("SELECT count(*) FROM applied WHERE seq = n"), 90) << "applied in the order of their numbers";
  EXPECT_EQ(replayed_sum(), 90);
}

TEST_P(Versions, ArrivalsFromManyThreadsAreAppliedInOrder) {
  run_threads(4, [&](int thread) {
    for (std::int64_t seq = 100 - thread; seq > 0; seq -= 4) arrive(seq, "RESERVE");
  });
  EXPECT_EQ(count("SELECT count(*) FROM applied WHERE seq = n"), 100);
  EXPECT_TRUE(gaps().empty());
}

}  // namespace
}  // namespace skald::test
