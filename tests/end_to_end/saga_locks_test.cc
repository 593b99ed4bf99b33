// Semantic locks under load, and who goes on when one is released.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "runtime/wakeup.h"
#include "skald/engine.h"
#include "support/test_database.h"

namespace skald {
namespace {

struct Errand {
  std::string first, second;
  bool knows_second = false;
};
BOOST_DESCRIBE_STRUCT(Errand, (), (first, second, knows_second))

std::vector<std::string> second_once_known(const Errand& errand) {
  return errand.knows_second ? std::vector<std::string>{errand.second} : std::vector<std::string>{};
}

// Two locks, in two steps with a commit between; each alone at both places at its end.
Saga<Errand> errand_saga() {
  return Saga<Errand>("errand")
      .local("first", [](Local&, Errand& errand) { errand.knows_second = true; })
      .nothing_to_undo()
      .holds("place", &Errand::first, exclusive, wait_up_to(1h))
      .commit()
      .local("second",
             [](Local& step, Errand& errand) {
               for (const std::string& place : {errand.first, errand.second})
                 step->execute("UPDATE visits SET n = n + 1 WHERE place = $1", place);
             })
      .nothing_to_undo()
      .holds("place", second_once_known, exclusive, wait_up_to(1h));
}

struct Visit {
  std::string place;
};
BOOST_DESCRIBE_STRUCT(Visit, (), (place))

// Holds its place until it is told to leave.
Saga<Visit> visit_saga() {
  return Saga<Visit>("visit")
      .local("enter", [](Local&, Visit&) {})
      .nothing_to_undo()
      .holds("place", &Visit::place, exclusive, wait_up_to(1h))
      .await("leave", "leave", [](Local&, Visit&, const RawJson&) {})
      .timeout(1h);
}

class SagaLocks : public testing::TestWithParam<Dialect> {
 protected:
  SagaLocks() {
    engine_.sagas().add(errand_);
    engine_.sagas().add(visit_);
    db().write("tables",
               [](Transaction& tx) { tx.execute("CREATE TABLE visits (place TEXT PRIMARY KEY, n BIGINT NOT NULL)"); });
    engine_.start();
  }
  ~SagaLocks() override { engine_.stop(1s); }

  Database& db() { return **fixture_; }
  std::int64_t number(const std::string& sql) {
    return db().read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
  }
  bool until(const std::function<bool()>& ready, Duration patience = 30s) {
    const Instant end = clock_->steady() + patience;
    while (!ready()) {
      if (clock_->steady() > end) return false;
      runtime::Wakeup().wait(1ms);
    }
    return true;
  }
  SagaView view(const std::string& id) {
    return db().read_result([&](Transaction& tx) { return *engine_.sagas().find(tx, id); });
  }
  void leave(const std::string& id) {
    db().write("leave", [&](Transaction& tx) { engine_.sagas().signal(tx, id, "leave", "{}", "s-" + id); });
  }
  // No beat looks for what is due while a test runs: whoever goes on was woken.
  static EngineOptions options() {
    EngineOptions out;
    out.outbox.lease = 10h;
    out.outbox.beat = 1h;
    out.saga_threads = 8;
    return out;
  }
  // Half of them one way round, half the other, by eight threads, a hundred at a time:
  // enough to keep the eight that run them busy, and the queues short.
  void run_errands(bool known) {
    constexpr int kAtATime = 100, kThreads = 8, kPairs = 4;
    db().write("places", [&](Transaction& tx) {
      for (int i = 0; i < kPairs; ++i)
        for (const char* side : {"a", "b"})
          tx.execute("INSERT INTO visits (place, n) VALUES ($1, 0)", side + std::to_string(i));
    });
    for (int begun = 0; begun < kErrands; begun += kAtATime) {
      std::vector<std::jthread> starters;
      for (int t = 0; t < kThreads; ++t)
        starters.emplace_back([&, t] {
          for (int i = t; i < kAtATime; i += kThreads) {
            const std::string a = "a" + std::to_string(i / 2 % kPairs), b = "b" + std::to_string(i / 2 % kPairs);
            engine_.sagas().start(errand_, i % 2 == 0 ? Errand{a, b, known} : Errand{b, a, known});
          }
        });
      starters.clear();
      ASSERT_TRUE(until([&] { return number("SELECT COUNT(*) FROM skald_saga WHERE live = 1") == 0; })) << "deadlock";
    }
    EXPECT_EQ(number("SELECT COUNT(*) FROM skald_saga WHERE status = 'COMPLETED'"), kErrands);
    EXPECT_EQ(number("SELECT CAST(SUM(n) AS BIGINT) FROM visits"), 2 * kErrands);
    EXPECT_EQ(number("SELECT COUNT(*) FROM skald_lock"), 0);
  }

  static constexpr int kErrands = 2500;  // of each kind on each database
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> fixture_ =
      GetParam() == Dialect::sqlite ? test::TestDatabase::sqlite(env_, {.path = "", .full_sync = false})
                                    : test::TestDatabase::postgres(env_);
  Engine engine_{env_, **fixture_, options()};
  const Saga<Errand> errand_ = errand_saga();
  const Saga<Visit> visit_ = visit_saga();
};
INSTANTIATE_TEST_SUITE_P(Both, SagaLocks, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& given) { return given.param == Dialect::sqlite ? "SQLite" : "PostgreSQL"; });

TEST_P(SagaLocks, OppositeOrdersThatAreKnownAtTheStartAreSorted) { run_errands(true); }

// Then one of two is in the other's way: it gives back what it holds and begins anew,
// with all that it knows by now.
TEST_P(SagaLocks, OppositeOrdersThatShowOnTheWayDoNotDeadlockAndAllComplete) { run_errands(false); }

TEST_P(SagaLocks, ASagaThatIsStartedInATransactionIsWokenByItsCommitAndNotByAPoll) {
  Started begun;
  db().write("handler",
             [&](Transaction& tx) { begun = engine_.sagas().start_in(tx, errand_, Errand{"a", "b", true}); });
  EXPECT_TRUE(until([&] { return view(begun.id).status == SagaStatus::COMPLETED; }));
}

TEST_P(SagaLocks, AWaitingSagaIsWokenByTheReleaseAndNotByAPoll) {
  const Started holder = engine_.sagas().start(visit_, {"here"});
  const Started waiter = engine_.sagas().start(visit_, {"here"});
  EXPECT_EQ(view(waiter.id).step, "enter");
  leave(holder.id);
  EXPECT_TRUE(until([&] { return view(waiter.id).step == "leave"; }));
  leave(waiter.id);
  EXPECT_TRUE(until([&] { return view(waiter.id).status == SagaStatus::COMPLETED; }));
}

}  // namespace
}  // namespace skald
