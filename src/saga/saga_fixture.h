// A runner on a database of either kind, for tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include "saga/runner.h"
#include "skald/saga.h"
#include "store/tables/schema.h"
#include "support/span_listener.h"
#include "support/test_database.h"

namespace skald::saga {

struct Trip {
  std::string name = "t";
  std::int64_t amount = 0;
  std::vector<std::string> legs = {};
  std::optional<std::string> ticket = {}, hotel = {};
};
BOOST_DESCRIBE_STRUCT(Trip, (), (name, amount, legs, ticket, hotel))

// Counts what was done and undone, in the saga's own transactions.
inline void count(Local& step, const std::string& what, int by = 1) {
  step->execute("INSERT INTO effect (what, n) VALUES ($1, $2) ON CONFLICT (what) DO UPDATE SET n = effect.n + $2", what,
                by);
}
inline auto adds(std::string what) {
  return [what](Local& step, Trip&) { count(step, what); };
}
inline auto removes(std::string what) {
  return [what](Local& step, Trip&) { count(step, what, -1); };
}
inline auto refuses(std::string code = "NO") {
  return [code](Local&, Trip&) { throw Refused(code, "the business says no"); };
}

class SagaFixture : public testing::TestWithParam<Dialect> {
 protected:
  SagaFixture() {
    db().migrate(tables::kComponent, tables::migrations());
    db().write("create", [](Transaction& tx) { tx.execute("CREATE TABLE effect (what TEXT PRIMARY KEY, n BIGINT)"); });
  }
  Database& db() { return **database_; }

  static constexpr Duration kPatience = 300ms;
  std::unique_ptr<Runner> runner_as(std::string worker) { return runner_as(std::move(worker), registry_); }
  std::unique_ptr<Runner> runner_as(std::string worker, const Registry& registry, Duration patience = kPatience) {
    return std::make_unique<Runner>(env_, db(), registry,
                                    RunnerHooks{[worker] { return worker; },
                                                {},
                                                {},
                                                {},
                                                [](std::vector<std::function<void()>> calls) {
                                                  for (auto& one : calls) one();
                                                }},
                                    GroupLimits{.patience = patience});
  }
  // Goes on with everything until nothing is ready and nothing is due within `soon`.
  static void settle(Runner& runner, Duration soon = 1s) {
    for (;;) {
      while (runner.run_one()) {}
      if (runner.poll() > soon && !runner.run_one()) return;
    }
  }
  template <class S>
  Started start(const Saga<S>& saga, S state = {}, StartOptions options = {}) {
    return runner_->start(registry_.latest(saga.definition().type), std::make_shared<S>(std::move(state)), options);
  }
  template <class S>
  Started run(const Saga<S>& saga, S state = {}, StartOptions options = {}) {
    const Started begun = start(saga, std::move(state), options);
    settle(*runner_);
    return begun;
  }
  template <class S>
  void know(const Saga<S>& saga) {
    registry_.add(saga.definition());
  }
  SagaView view(const std::string& id) {
    return db().read_result([&](Transaction& tx) { return view_of(*tables::saga::find(tx, id), registry_); });
  }
  int effects(const std::string& what) {
    return db().read_result([&](Transaction& tx) {
      const Rows rows = tx.query("SELECT n FROM effect WHERE what = $1", what);
      return rows.empty() ? 0 : rows.get<int>(0, 0);
    });
  }
  std::int64_t rows_in(const std::string& table) {
    return db().read_result(
        [&](Transaction& tx) { return tx.query("SELECT COUNT(*) FROM " + table).get<std::int64_t>(0, 0); });
  }
  std::int64_t owned_by(const std::string& worker) {
    return db().read_result([&](Transaction& tx) {
      return tx.query("SELECT COUNT(*) FROM skald_saga WHERE owner = $1", worker).get<std::int64_t>(0, 0);
    });
  }
  void die(const std::string& worker) {
    db().write("take over", [&](Transaction& tx) { tables::saga::release_all(tx, worker, true); });
    runner_->note_due(Duration::zero());
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  test::SpanListener spans_;
  Env env_{*clock_, *random_, spans_};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::of(GetParam(), env_);
  Registry registry_;
  std::unique_ptr<Runner> runner_ = runner_as("w1");
};

inline std::string dialect_name(const testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::sqlite ? "SQLite" : "PostgreSQL";
}

}  // namespace skald::saga
