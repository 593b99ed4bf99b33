#include "skald/optimistic.h"

#include <atomic>

#include "isolation/isolation_fixture.h"

namespace skald::test {
namespace {

class Optimistic : public IsolationTest {
 protected:
  void change_elsewhere() {
    db().write("elsewhere", [](Transaction& tx) {
      auto lamp = *tx.find<Product>("lamp");
      --lamp.quantity;
      tx.save(lamp);
    });
  }

  std::vector<Duration> pauses_;
};
SKALD_ON_EVERY_STORE(Optimistic);

TEST_P(Optimistic, RunsAStaleBodyAgainAfterALongerPauseEachTime) {
  const RetryPolicy policy{.aggregate = "product", .tries = 3, .first = 100ms, .jitter = 0.5};
  db().write("age", [](Transaction& tx) { tx.execute("UPDATE product SET version = 5 WHERE sku = 'lamp'"); });
  Product old{"lamp", 100, 0, 4};
  int runs = 0;
  retry_stale(
      env(), db(), policy, [&](Duration pause) { pauses_.push_back(pause); }, "change",
      [&](Transaction& tx) {
        if (++runs == 3) old.version = 5;
        Product row = old;
        tx.save(row);
      });
  EXPECT_EQ(runs, 3);
  ASSERT_EQ(pauses_.size(), 2u);
  for (int i : {0, 1}) {
    EXPECT_GE(pauses_[static_cast<std::size_t>(i)], 100ms * (i + 1));
    EXPECT_LE(pauses_[static_cast<std::size_t>(i)], 150ms * (i + 1));
  }
  EXPECT_EQ(product("lamp").version, 6);
}

TEST_P(Optimistic, GivesUpAfterTheDeclaredTriesAndSaysWhy) {
  int runs = 0;
  const std::string told = expect_error<Stale>("STILL_STALE", [&] {
    retry_stale(
        env(), db(), {.aggregate = "product"}, [&](Duration pause) { pauses_.push_back(pause); }, "change price",
        [&](Transaction& tx) {
          ++runs;
          Product row{"lamp", 1, 1, 77};
          tx.save(row);
        });
  });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(pauses_.size(), 2u) << "nobody waits after the last one";
  for (const char* part : {"product", "3 tries", "change price"}) EXPECT_NE(told.find(part), std::string::npos) << told;
}

TEST_P(Optimistic, RunsNothingAgainButWhatIsStale) {
  int runs = 0;
  EXPECT_THROW(retry_stale(
                   env(), db(), {.aggregate = "product"}, [](Duration) { FAIL() << "nothing to wait for"; }, "refuse",
                   [&](Transaction&) {
                     ++runs;
                     throw Refused("NO", "no");
                   }),
               Refused);
  EXPECT_EQ(runs, 1);
}

TEST_P(Optimistic, RereadUpdatesWhatIsUnchanged) {
  const auto version = db().write_result("update", [](Transaction& tx) {
    return update_if_unchanged<&Product::quantity, &Product::reserved>(tx, "lamp", 0, 90, 10);
  });
  EXPECT_EQ(version, 1);
  EXPECT_EQ(product("lamp"), (Product{"lamp", 90, 10, 1}));
  EXPECT_EQ(product("bulb"), (Product{"bulb", 7, 0, 0}));
}

TEST_P(Optimistic, RereadNamesBothVersionsOfWhatHasChanged) {
  const std::int64_t seen = product("lamp").version;
  change_elsewhere();
  change_elsewhere();
  const std::string told = expect_error<Stale>("STALE_ROW", [&] {
    db().write("update", [&](Transaction& tx) { update_if_unchanged<&Product::reserved>(tx, "lamp", seen, 1); });
  });
  EXPECT_NE(told.find("version 0 when"), std::string::npos) << told;
  EXPECT_NE(told.find("is at 2 now"), std::string::npos) << told;
  EXPECT_EQ(product("lamp"), (Product{"lamp", 98, 0, 2}));
}

TEST_P(Optimistic, RereadTellsThatARowIsGone) {
  expect_error<NotFound>("ROW_GONE", [&] {
    db().write("update", [&](Transaction& tx) { update_if_unchanged<&Product::reserved>(tx, "none", 3, 1); });
  });
}

class OptimisticRace : public IsolationTest {};
SKALD_ON_EVERY_STORE(OptimisticRace);

TEST_P(OptimisticRace, OfManyWhoSawOneVersionOneUpdates) {
  for (std::int64_t seen = 0; seen < 20; ++seen) {
    std::atomic<int> updated = 0, stale = 0;
    run_threads(4, [&](int thread) {
      try {
        db().write("update",
                   [&](Transaction& tx) { update_if_unchanged<&Product::reserved>(tx, "lamp", seen, thread); });
        ++updated;
      } catch (const Stale&) {
        ++stale;
      }
    });
    ASSERT_EQ(updated, 1);
    ASSERT_EQ(stale, 3);
  }
}

TEST_P(OptimisticRace, NoUpdateIsLostWhenManyTryAgain) {
  run_threads(4, [&](int) {
    for (int i = 0; i < 20; ++i)
      retry_stale(
          env(), db(), {.aggregate = "product", .tries = 1000}, [](Duration) {}, "increment",
          [](Transaction& tx) {
            auto lamp = *tx.find<Product>("lamp");
            ++lamp.reserved;
            tx.save(lamp);
          });
  });
  EXPECT_EQ(product("lamp").reserved, 80);
}

}  // namespace
}  // namespace skald::test
