#include <gtest/gtest.h>

#include "isolation/schema.h"
#include "order/order.h"
#include "order/stock.h"
#include "support/test_database.h"

namespace order {
namespace {

using skald::Dialect;
using skald::Transaction;

class StockTest : public testing::TestWithParam<Dialect> {
 protected:
  StockTest() {
    (*db_)->migrate(skald::isolation::kComponent, skald::isolation::isolation_migrations());
    (*db_)->migrate("order", migrations());
    write([](Transaction& tx) {
      for (const char* sku : {"lamp", "desk"}) tx.insert(Product{sku, sku, 100, "EUR", 100, 0, 0, 100, 0, tx.now(), 0});
    });
  }
  template <class F>
  void write(F&& body) {
    (*db_)->write("test", [&](Transaction& tx) { body(tx); });
  }
  // As the first two steps of a placement do.
  void take(const std::string& saga, const std::string& order, const std::vector<Item>& items) {
    write([&](Transaction& tx) {
      announce(tx, {saga, order}, items);
      reserve(tx, {saga, order}, items);
    });
  }
  template <class F>
  std::string refusal(F&& body) {
    try {
      write(body);
    } catch (const skald::Error& error) {
      return error.code();
    }
    return "";
  }
  Product product(const std::string& sku = "lamp") {
    return (*db_)->read_result([&](Transaction& tx) {
      Product found = *tx.find<Product>(sku);
      EXPECT_TRUE(replay(tx, beginning_of(found)).agrees_with(found));
      return found;
    });
  }
  std::vector<std::string> trail() {
    return (*db_)->read_result([&](Transaction& tx) {
      std::vector<std::string> out;
      for (const auto& entry : version_file().entries(tx, resource_of("lamp")))
        out.push_back(std::to_string(entry.seq) + " " + entry.saga_id + " " + entry.action + " " +
                      std::to_string(entry.amount) + " " + std::string(skald::enum_name(entry.status)));
      return out;
    });
  }

  std::unique_ptr<skald::Clock> clock_ = skald::system_clock();
  std::unique_ptr<skald::Random> random_ = skald::system_random();
  skald::Env env_{*clock_, *random_, skald::silent_observer()};
  std::unique_ptr<skald::test::TestDatabase> db_ = skald::test::TestDatabase::of(GetParam(), env_);
};

INSTANTIATE_TEST_SUITE_P(Both, StockTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& given) { return given.param == Dialect::sqlite ? "SQLite" : "PostgreSQL"; });

TEST_P(StockTest, AnUndoIsRelativeAndKeepsWhatOthersDidInBetween) {
  take("A", "o1", {{"lamp", 10}});
  take("B", "o2", {{"lamp", 20}});
  write([](Transaction& tx) { confirm(tx, {"B", "o2"}, std::vector<Item>{{"lamp", 20}}); });
  write([](Transaction& tx) { release(tx, {"A", "o1"}, std::vector<Item>{{"lamp", 10}}); });
  EXPECT_EQ(product().quantity, 80) << "100 would be A's memory, written over B's sale";
  EXPECT_EQ(product().sold, 20);
}

TEST_P(StockTest, ASecondReservationLeavesTheFirstItsOwn) {
  take("A", "o1", {{"lamp", 10}});
  take("B", "o2", {{"lamp", 20}});
  write([](Transaction& tx) { confirm(tx, {"A", "o1"}, std::vector<Item>{{"lamp", 10}}); });
  write([](Transaction& tx) { confirm(tx, {"B", "o2"}, std::vector<Item>{{"lamp", 20}}); });
  EXPECT_EQ(product().sold, 30);
}

TEST_P(StockTest, ASagaCannotTouchTheReservationOfAnother) {
  take("A", "o1", {{"lamp", 10}});
  const std::vector<Item> items{{"lamp", 10}};
  EXPECT_EQ(refusal([&](Transaction& tx) { confirm(tx, {"B", "o1"}, items); }), "INVALID_SAGA");
  EXPECT_EQ(refusal([&](Transaction& tx) { release(tx, {"B", "o1"}, items); }), "INVALID_SAGA");
  EXPECT_EQ(refusal([&](Transaction& tx) { confirm(tx, {"A", "o2"}, items); }), "NO_RESERVATION");
  EXPECT_EQ(product().reserved, 10);
  write([&](Transaction& tx) { confirm(tx, {"A", "o1"}, items); });
  EXPECT_EQ(refusal([&](Transaction& tx) { confirm(tx, {"A", "o1"}, items); }), "NO_RESERVATION") << "once";
}

TEST_P(StockTest, TooFewIsSoldOutOrBusyByWhatUnfinishedSagasHold) {
  take("A", "o1", {{"lamp", 90}});
  const auto wants = [&](std::int64_t n) {
    return refusal([&](Transaction& tx) { reserve(tx, {"B", "o2"}, std::vector<Item>{{"lamp", n}}); });
  };
  EXPECT_EQ(wants(11), "BUSY");
  EXPECT_EQ(wants(100), "BUSY") << "enough if A gave all of its units back";
  EXPECT_EQ(wants(101), "SOLD_OUT") << "not even then";
  write([](Transaction& tx) { confirm(tx, {"A", "o1"}, std::vector<Item>{{"lamp", 90}}); });
  EXPECT_EQ(wants(11), "SOLD_OUT");
  EXPECT_EQ(wants(10), "");
}

TEST_P(StockTest, AnOrderReservesAllOfItsProductsOrNone) {
  EXPECT_EQ(refusal([&](Transaction& tx) { reserve(tx, {"A", "o1"}, std::vector<Item>{{"desk", 5}, {"lamp", 101}}); }),
            "SOLD_OUT");
  EXPECT_EQ(product("desk").quantity, 100);
  EXPECT_EQ(trail(), std::vector<std::string>{});
}

TEST_P(StockTest, TheVersionFileTellsEveryMove) {
  take("A", "o1", {{"lamp", 10}});
  take("B", "o2", {{"lamp", 20}});
  write([](Transaction& tx) { confirm(tx, {"A", "o1"}, std::vector<Item>{{"lamp", 10}}); });
  write([](Transaction& tx) { release(tx, {"B", "o2"}, std::vector<Item>{{"lamp", 20}}); });
  write([](Transaction& tx) { restock(tx, "kim", "lamp", 7); });
  write([](Transaction& tx) { give_back(tx, {"C", "o1"}, std::vector<Item>{{"lamp", 10}}); });
  EXPECT_EQ(trail(), (std::vector<std::string>{"1 A RESERVE 10 COMPLETED", "2 B RESERVE 20 COMPENSATED",
                                               "3 A CONFIRM 10 COMPLETED", "4 B CANCEL 20 COMPENSATED",
                                               "5 kim RESTOCK 7 COMPLETED", "6 C RETURN 10 COMPLETED"}));
  EXPECT_EQ(product().quantity, 107);
}

}  // namespace
}  // namespace order
