// GET /api/locks with more locks and longer queues than one look takes in, on both databases.
#include <gtest/gtest.h>

#include "http/engine_paths.h"
#include "http/fake_env.h"
#include "store/tables/semantic_lock.h"
#include "support/test_database.h"

namespace skald::http {
namespace {

class LockPathsTest : public testing::TestWithParam<Dialect> {
 protected:
  LockPathsTest() {
    engine_.emplace(fake_.env, **db_, EngineOptions{.works = false});
    add_engine_paths(routes_, {fake_.env, {{"shop", *engine_}}, metrics_});
  }

  static std::string number(int n) { return std::to_string(100'000 + n); }
  // Under one commit: what sagas would have left.
  void put(const std::vector<tables::semantic_lock::Row>& rows) {
    (*db_)->write("locks", [&](Transaction& tx) {
      for (const auto& row : rows) tables::semantic_lock::insert(tx, row);
    });
  }
  void hold_many(const std::string& resource, int count) {
    std::vector<tables::semantic_lock::Row> rows;
    for (int i = 0; i < count; ++i)
      rows.push_back({{resource, number(i)}, resource + "-" + number(i), "", exclusive, true, 0, Time{}, "reserve"});
    put(rows);
  }
  Listing<OfService<LockView>> get(const std::string& query) {
    Request request;
    request.method = "GET";
    request.path = "/api/locks" + query;
    const Response response = routes_.dispatch(request);
    EXPECT_EQ(response.status, 200) << query << response.body;
    return from_json<Listing<OfService<LockView>>>(response.body);
  }
  // "resource key holder" of all pages, and what was shown twice or out of order makes the test fail.
  std::vector<std::string> all(const std::string& query) {
    std::vector<std::string> out;
    std::string cursor;
    do {
      const auto page = get(query + cursor);
      for (const auto& lock : page.items) out.push_back(lock.resource + " " + lock.key + " " + lock.saga_id);
      cursor = page.next_cursor ? "&cursor=" + *page.next_cursor : "";
    } while (!cursor.empty() && out.size() < 10'000);
    return out;
  }

  FakeEnv fake_;
  Metrics metrics_;
  std::unique_ptr<test::TestDatabase> db_ = test::TestDatabase::of(GetParam(), fake_.env);
  std::optional<Engine> engine_;
  Routes routes_{fake_.env, Authenticator(fake_.env, std::nullopt), "1"};
};
INSTANTIATE_TEST_SUITE_P(Both, LockPathsTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& about) { return about.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(LockPathsTest, AFilterFindsWhatIsBehindAThousandOthers) {
  hold_many("product", 1'200);
  hold_many("traveller", 3);
  EXPECT_EQ(all("?resource=traveller").size(), 3u);
  EXPECT_EQ(all("?key=" + number(1'100)), std::vector<std::string>{"product 101100 product-101100"});
  EXPECT_EQ(all("?sagaId=traveller-" + number(2)), std::vector<std::string>{"traveller 100002 traveller-100002"});
  EXPECT_TRUE(all("?resource=traveller&key=" + number(3)).empty());
}

TEST_P(LockPathsTest, PagesGoThroughAllOfThemOnceInOrder) {
  hold_many("product", 1'200);
  const auto shown = all("?limit=200");
  EXPECT_EQ(shown.size(), 1'200u);
  EXPECT_TRUE(std::ranges::is_sorted(shown));
  EXPECT_EQ(std::ranges::adjacent_find(shown), shown.end());
  const auto first = get("?limit=2");
  (*db_)->write("release", [](Transaction& tx) {
    tables::semantic_lock::remove(tx, {"product", number(1)}, "product-" + number(1));
  });
  const auto second = get("?limit=1&cursor=" + first.next_cursor.value());
  EXPECT_EQ(second.items.at(0).key, number(2)) << "the lock of the cursor is gone, its place is not";
}

TEST_P(LockPathsTest, ThoseWhoShareALockAreTwoAndThePageMayEndBetweenThem) {
  put({{{"product", "lamp"}, "a", "a", shared, true, 0, Time{}, "look"},
       {{"product", "lamp"}, "b", "b", shared, true, 0, Time{}, "look"},
       {{"product", "lamp"}, "c", "c", exclusive, false, 0, Time{}, "buy"}});
  EXPECT_EQ(all("?limit=1"), (std::vector<std::string>{"product lamp a", "product lamp b"}));
  for (const auto& lock : get("").items) {
    ASSERT_EQ(lock.waiting.size(), 1u) << lock.saga_id;
    EXPECT_EQ(lock.waiting[0].saga_id, "c");
  }
}

TEST_P(LockPathsTest, ALockShownHasItsWholeQueueCountedAndItsFirstHundredNamed) {
  hold_many("product", 1'200);
  std::vector<tables::semantic_lock::Row> queue;
  for (int i = 0; i < 130; ++i)
    queue.push_back({{"product", number(1'199)}, "w" + number(i), "w" + number(i), exclusive, false, 0, Time{}, "buy"});
  queue.push_back({{"product", number(0)}, "other", "child of other", exclusive, false, 0, Time{}, "buy"});
  put(queue);
  const auto last = get("?key=" + number(1'199)).items.at(0);
  EXPECT_EQ(last.waiting_count, 130);
  ASSERT_EQ(last.waiting.size(), 100u);
  EXPECT_EQ(last.waiting.front().saga_id, "w" + number(0));
  EXPECT_EQ(last.waiting.back().saga_id, "w" + number(99));
  const auto page = get("?limit=2");
  EXPECT_EQ(page.items.at(0).waiting.at(0).saga_id, "child of other");
  EXPECT_EQ(page.items.at(0).waiting_count, 1);
  EXPECT_EQ(page.items.at(1).waiting_count, 0);
  EXPECT_TRUE(page.items.at(1).waiting.empty());
}

}  // namespace
}  // namespace skald::http
