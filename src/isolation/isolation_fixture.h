// What the tests of the countermeasures share: a database of either kind with their
// tables, and a product to fight over.
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "conformance/store_suite.h"
#include "isolation/schema.h"

namespace skald::test {

struct Product {
  std::string sku;
  std::int64_t quantity = 0, reserved = 0;
  std::int64_t version = 0;
  bool operator==(const Product&) const = default;
};
BOOST_DESCRIBE_STRUCT(Product, (), (sku, quantity, reserved, version))

}  // namespace skald::test

template <>
struct skald::Table<skald::test::Product> {
  static constexpr std::string_view name = "product", key = "sku";
};

namespace skald::test {

class IsolationTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    db().migrate(isolation::kComponent, isolation::isolation_migrations());
    db().write("create", [](Transaction& tx) {
      tx.execute(
          "CREATE TABLE product (sku TEXT PRIMARY KEY, quantity BIGINT NOT NULL, reserved BIGINT NOT NULL, version "
          "BIGINT NOT NULL)");
      tx.insert(Product{"bulb", 7, 0, 0});
      tx.insert(Product{"lamp", 100, 0, 0});
    });
  }

  Product product(const std::string& sku) {
    return db().read_result([&](Transaction& tx) { return *tx.find<Product>(sku); });
  }
  std::int64_t count(std::string_view sql) {
    return db().read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
  }
  // As another program would use the same database; on SQLite there is only this one.
  std::unique_ptr<Database> other_program(Duration lock_timeout = 5s) {
    return open_postgres(env(), {.url = database().address(), .connections = 2, .lock_timeout = lock_timeout});
  }
  // All begin together.
  static void run_threads(int count, const std::function<void(int)>& body) {
    std::barrier start(count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        try {
          body(i);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "thread " << i << " threw: " << error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
};

// For what only two sessions at once can show: SQLite has one writer at a time.
#define SKALD_ON_POSTGRES(suite) \
  INSTANTIATE_TEST_SUITE_P(Store, suite, ::testing::Values(Dialect::postgres), dialect_name)

}  // namespace skald::test
