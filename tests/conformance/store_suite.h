// The store's conformance suite: every test runs on every kind of database.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "skald/database.h"
#include "support/test_database.h"

namespace skald::test {

class StoreTest : public ::testing::TestWithParam<Dialect> {
 protected:
  void SetUp() override {
    database_ = TestDatabase::of(GetParam(), env());
    db().write("create",
               [](Transaction& tx) { tx.execute("CREATE TABLE item (id TEXT PRIMARY KEY, amount BIGINT NOT NULL)"); });
  }

  Env env() { return {*clock_, *random_, silent_observer()}; }
  Database& db() { return **database_; }
  TestDatabase& database() { return *database_; }
  bool on_postgres() const { return GetParam() == Dialect::postgres; }

  void put(Transaction& tx, std::string_view id, std::int64_t amount) {
    tx.execute("INSERT INTO item (id, amount) VALUES ($1, $2)", id, amount);
  }
  // "a=1 b=2", sorted by id.
  std::string items() {
    return db().read_result([](Transaction& tx) {
      std::string out;
      const Rows rows = tx.query("SELECT id, amount FROM item ORDER BY id");
      for (std::size_t i = 0; i < rows.size(); ++i)
        out += (i > 0 ? " " : "") + rows.get<std::string>(i, 0) + "=" + std::to_string(rows.get<std::int64_t>(i, 1));
      return out;
    });
  }

 private:
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  std::unique_ptr<TestDatabase> database_;
};

// Runs `body`, which must throw an E with this code; gives its text back.
template <class E, class F>
std::string expect_error(const char* code, F&& body) {
  try {
    body();
  } catch (const E& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown; wanted " << code;
  return {};
}

inline std::string dialect_name(const ::testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::sqlite ? "sqlite" : "postgres";
}

#define SKALD_ON_EVERY_STORE(suite) \
  INSTANTIATE_TEST_SUITE_P(Store, suite, ::testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name)

}  // namespace skald::test
