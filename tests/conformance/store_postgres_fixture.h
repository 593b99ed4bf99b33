// What only PostgreSQL has: other sessions, a network, announcements.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "store_suite.h"

namespace skald::test {

class Postgres : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.before_statement = [this](std::string_view sql) {
      std::lock_guard lock(trips_mutex_);
      trips_.emplace_back(sql);
    };
    options_.lock_timeout = 50ms;
    database_ = TestDatabase::postgres(env(), options_);
    other_ = open_postgres(env(), PostgresOptions{.url = database_->address(), .connections = 2});
    db().write("create", [](Transaction& tx) {
      tx.execute("CREATE TABLE item (id TEXT PRIMARY KEY, amount BIGINT NOT NULL)");
      tx.execute("INSERT INTO item VALUES ('a', 0), ('b', 0)");
    });
    forget_trips();
  }

  Env env() { return {*clock_, *random_, silent_observer()}; }
  Database& db() { return **database_; }
  Database& other() { return *other_; }
  std::vector<std::string> trips() {
    std::lock_guard lock(trips_mutex_);
    return trips_;
  }
  void forget_trips() {
    std::lock_guard lock(trips_mutex_);
    trips_.clear();
  }
  int amount(const char* id) {
    return other().read_result(
        [&](Transaction& tx) { return tx.query("SELECT amount FROM item WHERE id = $1", id).get<int>(0, 0); });
  }
  void kill(std::int64_t pid) {
    other().write("kill", [&](Transaction& tx) { tx.query("SELECT pg_terminate_backend($1, 5000)", pid); });
  }
  static std::int64_t pid_of(Transaction& tx) { return tx.query("SELECT pg_backend_pid()").get<std::int64_t>(0, 0); }
  static void add(Transaction& tx, const char* id) {
    tx.execute("UPDATE item SET amount = amount + 1 WHERE id = $1", id);
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  PostgresOptions options_;
  std::mutex trips_mutex_;
  std::vector<std::string> trips_;
  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<Database> other_;
};

}  // namespace skald::test
