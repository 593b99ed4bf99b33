// The engine's tables of workers and partitions: who counts, and who owns what.
#include "store/tables/partition.h"
#include "store/tables/schema.h"
#include "store/tables/worker.h"
#include "store_suite.h"

namespace skald::test {
namespace {

using tables::partition::Ownership;
namespace partition = tables::partition;
namespace worker = tables::worker;

class Ownerships : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db().migrate(tables::kComponent, tables::migrations());
  }

  void join(const std::string& id) {
    db().write("join", [&](Transaction& tx) {
      worker::insert(tx, {.id = id, .host = "h", .pid = 1, .started_at = {}, .beat = 0, .beat_at = {}, .sessions = ""});
    });
  }
  bool hold(const std::string& id) {
    return db().write_result("hold", [&](Transaction& tx) { return worker::hold(tx, id); });
  }
  // Under its next fence.
  Ownership take(int id, const std::string& owner) {
    return db().write_result("take", [&](Transaction& tx) {
      const Ownership seen = partition::all(tx).at(static_cast<std::size_t>(id));
      return Ownership{id, owner, partition::take(tx, seen, owner).value()};
    });
  }
  std::vector<int> checked(const std::string& owner, const std::vector<Ownership>& owned) {
    return db().write_result("check", [&](Transaction& tx) { return partition::check(tx, owner, owned); });
  }
  std::vector<Ownership> all() {
    return db().read_result([](Transaction& tx) { return partition::all(tx); });
  }
};
SKALD_ON_EVERY_STORE(Ownerships);

// Of sessions that meet; SQLite has one writer at a time.
class SharedOwnerships : public Ownerships {};
INSTANTIATE_TEST_SUITE_P(Store, SharedOwnerships, ::testing::Values(Dialect::postgres), dialect_name);

TEST_P(Ownerships, AWorkerIsHeldWhileItCounts) {
  EXPECT_FALSE(hold("w1"));
  join("w1");
  EXPECT_TRUE(hold("w1"));
  EXPECT_FALSE(hold("w2"));
  db().write("remove", [](Transaction& tx) { worker::remove(tx, "w1"); });
  EXPECT_FALSE(hold("w1"));
}

TEST_P(SharedOwnerships, NobodyRemovesAWorkerThatIsHeld) {
  join("w1");
  const auto other =
      open_postgres(env(), PostgresOptions{.url = database().address(), .connections = 2, .lock_timeout = 50ms});
  const auto remove = [&] { other->write("remove", [](Transaction& tx) { worker::remove(tx, "w1"); }); };
  db().write("work", [&](Transaction& tx) {
    ASSERT_TRUE(worker::hold(tx, "w1"));
    EXPECT_THROW(remove(), LockTimeout);
    EXPECT_TRUE(other->write_result("hold", [](Transaction& same) { return worker::hold(same, "w1"); }))
        << "those who hold it do not wait for each other";
  });
  remove();
  EXPECT_FALSE(hold("w1"));
}

TEST_P(Ownerships, AWorkerGivesBackAllThatIsItsOwnAndNothingElse) {
  take(3, "w1");
  const Ownership again = take(3, "w1"), second = take(7, "w1"), others = take(8, "w2");
  db().write("leave", [](Transaction& tx) { partition::release_all(tx, "w1"); });
  for (const Ownership& now : all()) EXPECT_EQ(now.owner, now.id == 8 ? "w2" : "") << now.id;
  EXPECT_EQ(all().at(3).fence, again.fence) << "only a taker counts it up";
  EXPECT_TRUE(checked("w1", {again, second}).empty());
  EXPECT_EQ(checked("w2", {others}), std::vector<int>{8});
}

TEST_P(Ownerships, WhatWasGivenBackIsTakenUnderAHigherFence) {
  const Ownership before = take(3, "w1");
  db().write("leave", [](Transaction& tx) { partition::release_all(tx, "w1"); });
  const Ownership after = take(3, "w2");
  EXPECT_GT(after.fence, before.fence);
  db().write("leave again", [](Transaction& tx) { partition::release_all(tx, "w1"); });
  EXPECT_EQ(checked("w2", {after}), std::vector<int>{3});
}

}  // namespace
}  // namespace skald::test
