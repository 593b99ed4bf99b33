#include "skald/row_locks.h"

#include <gmock/gmock.h>

#include <atomic>

#include "isolation/isolation_fixture.h"

namespace skald::test {

struct Account {
  std::int64_t id = 0;
  std::int64_t balance = 0;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, balance))

}  // namespace skald::test

template <>
struct skald::Table<skald::test::Account> {
  static constexpr std::string_view name = "account", key = "id";
};

namespace skald::test {
namespace {

class RowLocksTest : public IsolationTest {
 protected:
  void SetUp() override {
    IsolationTest::SetUp();
    db().write("accounts", [](Transaction& tx) {
      tx.execute("CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)");
      for (std::int64_t id : {9, 10}) tx.insert(Account{id, id * 100});
    });
  }
  void lock(const std::function<void(RowLocks&)>& body) {
    db().write("lock", [&](Transaction& tx) {
      RowLocks locks(tx, {"account", "product"}, "reserve stock");
      body(locks);
    });
  }
};
SKALD_ON_EVERY_STORE(RowLocksTest);

TEST_P(RowLocksTest, TakesRowsInTheDeclaredOrder) {
  lock([](RowLocks& locks) {
    EXPECT_EQ(locks.take<Account>(9)->balance, 900);
    EXPECT_EQ(locks.take<Account>(10)->balance, 1000) << "numbers are in the order of numbers, not of their text";
    EXPECT_EQ(locks.take<Product>("bulb")->quantity, 7);
    EXPECT_EQ(locks.take<Product>("lamp")->quantity, 100);
    EXPECT_EQ(locks.take<Account>(9)->balance, 900) << "what is held may be taken again";
    EXPECT_FALSE(locks.take<Product>("none"));
  });
}

TEST_P(RowLocksTest, StepsThatShareATransactionAreCheckedTogether) {
  db().write("fused", [](Transaction& tx) {
    const LockRanks ranks{"account", "product"};
    RowLocks first(tx, ranks, "reserve"), second(tx, ranks, "pay");
    first.take<Product>("lamp");
    EXPECT_THAT([&] { second.take<Account>(9); }, testing::ThrowsMessage<LockOrder>(testing::HasSubstr(
                                                      "pay asks for account 9 while reserve holds product 'lamp'")));
  });
  lock([](RowLocks& locks) { locks.take<Account>(9); });  // another transaction begins with nothing
}

TEST_P(RowLocksTest, NamesBothResourcesAndTheStepWhenTheyAreTakenAgainstIt) {
  const std::string told = expect_error<LockOrder>("LOCK_ORDER", [&] {
    lock([](RowLocks& locks) {
      locks.take<Product>("lamp");
      locks.take<Account>(9);
    });
  });
  for (const char* part : {"reserve stock", "account 9", "product 'lamp'", "account, product"})
    EXPECT_NE(told.find(part), std::string::npos) << part << " is not in: " << told;
}

TEST_P(RowLocksTest, RefusesALowerKeyOfTheSameResource) {
  const std::string told = expect_error<LockOrder>("LOCK_ORDER", [&] {
    lock([](RowLocks& locks) {
      locks.take<Product>("lamp");
      locks.take<Product>("bulb");
    });
  });
  for (const char* part : {"product 'bulb'", "product 'lamp'"})
    EXPECT_NE(told.find(part), std::string::npos) << part << " is not in: " << told;
}

TEST_P(RowLocksTest, RefusesAResourceWithoutARank) {
  db().write("lock", [&](Transaction& tx) {
    RowLocks locks(tx, {"account"}, "reserve stock");
    const std::string told = expect_error<LockOrder>("LOCK_NOT_DECLARED", [&] { locks.take<Product>("lamp"); });
    EXPECT_NE(told.find("product"), std::string::npos) << told;
  });
}

TEST_P(RowLocksTest, SortsManyKeysAndAnswersInTheOrderOfTheQuestion) {
  lock([](RowLocks& locks) {
    const auto rows = locks.take_all<Product>(std::vector<std::string>{"lamp", "none", "bulb", "lamp"});
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0]->sku, "lamp");
    EXPECT_FALSE(rows[1]);
    EXPECT_EQ(rows[2]->sku, "bulb");
    EXPECT_EQ(rows[3]->sku, "lamp");
  });
}

class RowLocksRace : public RowLocksTest {};
SKALD_ON_POSTGRES(RowLocksRace);

TEST_P(RowLocksRace, OppositeWishesNeverDeadlock) {
  struct Retries final : Observer {
    void count(std::string_view metric, std::int64_t by) override {
      if (metric == "store_retries_total") seen += by;
    }
    std::atomic<std::int64_t> seen = 0;
  } observer;
  const auto watched =
      open_postgres({env().clock, env().random, observer}, {.url = database().address(), .connections = 4});
  run_threads(4, [&](int thread) {
    const std::vector<std::string> keys =
        thread % 2 == 0 ? std::vector<std::string>{"lamp", "bulb"} : std::vector<std::string>{"bulb", "lamp"};
    for (int i = 0; i < 50; ++i)
      watched->write("both", [&](Transaction& tx) {
        RowLocks locks(tx, {"product"}, "both");
        for (auto& row : locks.take_all<Product>(keys)) {
          ++row->reserved;
          tx.save(*row);
        }
      });
  });
  EXPECT_EQ(product("lamp").reserved, 200);
  EXPECT_EQ(product("bulb").reserved, 200);
  EXPECT_EQ(observer.seen, 0) << "transactions were given up in favour of others";
}

TEST_P(RowLocksRace, AnotherTransactionWaitsForTheRow) {
  const auto other = other_program(50ms);
  lock([&](RowLocks& locks) {
    locks.take<Product>("lamp");
    EXPECT_THROW(other->write("take",
                              [](Transaction& tx) {
                                RowLocks theirs(tx, {"product"});
                                theirs.take<Product>("lamp");
                              }),
                 LockTimeout);
  });
}

}  // namespace
}  // namespace skald::test
