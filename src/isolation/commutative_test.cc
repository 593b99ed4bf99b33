#include "skald/commutative.h"

#include <atomic>

#include "isolation/isolation_fixture.h"

namespace skald::test {
namespace {

const auto reserve = GuardedUpdate<Product>().take(&Product::quantity).put(&Product::reserved);
const auto give_back = GuardedUpdate<Product>().take(&Product::reserved).put(&Product::quantity);

class Commutative : public IsolationTest {
 protected:
  bool run(const GuardedUpdate<Product>& update, std::int64_t amount, const std::string& sku = "lamp") {
    return db().write_result("move", [&](Transaction& tx) { return update.run(tx, sku, amount); });
  }
};
SKALD_ON_EVERY_STORE(Commutative);

TEST_P(Commutative, MovesUnitsAndCountsTheVersionUp) {
  EXPECT_TRUE(run(reserve, 30));
  EXPECT_EQ(product("lamp"), (Product{"lamp", 70, 30, 1}));
  EXPECT_TRUE(run(give_back, 10));
  EXPECT_EQ(product("lamp"), (Product{"lamp", 80, 20, 2}));
  EXPECT_EQ(product("bulb"), (Product{"bulb", 7, 0, 0}));
}

TEST_P(Commutative, SaysNoAndChangesNothingWhereThereIsNotEnough) {
  EXPECT_FALSE(run(reserve, 101));
  EXPECT_FALSE(run(give_back, 1));
  EXPECT_FALSE(run(reserve, 1, "none"));
  EXPECT_EQ(product("lamp"), (Product{"lamp", 100, 0, 0}));
  EXPECT_TRUE(run(reserve, 100));
}

TEST_P(Commutative, RefusesAmountsThatWouldPassEveryGuard) {
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, GuardedUpdate<Product>::kAmountMax + 1})
    expect_error<Invalid>("BAD_AMOUNT", [&] { run(reserve, bad); });
  EXPECT_EQ(product("lamp"), (Product{"lamp", 100, 0, 0}));
}

TEST_P(Commutative, AnOptimisticSaveOfWhatWasReadBeforeIsTold) {
  auto read = product("lamp");
  run(reserve, 1);
  EXPECT_THROW(db().write("save", [&](Transaction& tx) { tx.save(read); }), Stale);
}

TEST_P(Commutative, IsOneStatementOfFixedText) {
  EXPECT_EQ(reserve.sql(),
            "UPDATE product SET version = version + 1, quantity = quantity - $2, reserved = reserved + $2 WHERE sku = "
            "$1 AND quantity >= $2");
}

TEST_P(Commutative, ManyAtOnceSellEveryUnitAndNotOneMore) {
  std::atomic<int> sold = 0;
  run_threads(8, [&](int) {
    for (int i = 0; i < 10; ++i) sold += run(reserve, 3) ? 1 : 0;
  });
  EXPECT_EQ(sold, 33);
  EXPECT_EQ(product("lamp"), (Product{"lamp", 1, 99, 33}));
}

}  // namespace
}  // namespace skald::test
