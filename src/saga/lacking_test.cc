// Steps that wait for what others may free.
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class LackingTest : public SagaFixture {
 protected:
  LackingTest() { set_stock(0); }

  void set_stock(int n) {
    db().write("stock", [&](Transaction& tx) {
      tx.execute("INSERT INTO effect (what, n) VALUES ('stock', $1) ON CONFLICT (what) DO UPDATE SET n = $1", n);
    });
  }
  // Units come back, as another saga or a person would give them.
  void give(int n) {
    db().write("give", [&](Transaction& tx) {
      tx.execute("UPDATE effect SET n = n + $1 WHERE what = 'stock'", n);
      runner_->freed(tx, "units", "lamp");
    });
  }
  static Saga<Trip> buyer(std::chrono::milliseconds limit) {
    return Saga<Trip>("buyer")
        .local("create", adds("created"))
        .undo(removes("created"))
        .local("take",
               [limit](Local& step, Trip& trip) {
                 if (step->execute("UPDATE effect SET n = n - $1 WHERE what = 'stock' AND n >= $1", trip.amount) == 0)
                   throw Busy("BUSY", "none left", std::nullopt, Shortage{"units", "lamp", limit});
               })
        .undo([](Local& step, Trip& trip) {
          step->execute("UPDATE effect SET n = n + $1 WHERE what = 'stock'", trip.amount);
        });
  }
  // Only what is ready or due this moment: nobody has time to look by itself.
  void go_on() {
    runner_->note_due(Duration::zero());
    do {
      while (runner_->run_one()) {}
    } while (runner_->poll() == Duration::zero() || runner_->run_one());
  }
};
INSTANTIATE_TEST_SUITE_P(Both, LackingTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(LackingTest, AStepGoesOnWhenWhatItLacksIsFreed) {
  const auto saga = buyer(1h);
  know(saga);
  const Started begun = start(saga, {.amount = 2});
  go_on();
  EXPECT_EQ(view(begun.id).status, SagaStatus::WAITING);
  EXPECT_EQ(effects("created"), 1) << "others see what was done before";
  give(1);
  go_on();
  EXPECT_EQ(view(begun.id).status, SagaStatus::WAITING) << "one is not enough";
  give(1);
  go_on();
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("stock"), 0);
  EXPECT_EQ(rows_in("skald_shortage"), 0);
}

TEST_P(LackingTest, WhatIsFreedBetweenTheLookAndTheWaitIsFound) {
  const auto saga = buyer(1h);
  know(saga);
  const Started begun = start(saga, {.amount = 1});  // has looked, and said that it lacks one
  set_stock(1);                                      // by one who did not know of it
  go_on();
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
}

TEST_P(LackingTest, OneThatWaitsInVainIsRefusedAndUndone) {
  const auto saga = buyer(5ms);
  know(saga);
  const Started begun = run(saga, {.amount = 1});
  ASSERT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id).error->code, "BUSY");
  EXPECT_EQ(effects("created"), 0);
  EXPECT_EQ(rows_in("skald_shortage"), 0);
}

TEST_P(LackingTest, OneThatNobodyWakesLooksByItself) {
  const auto saga = buyer(1h);
  know(saga);
  const Started begun = start(saga, {.amount = 1});
  go_on();
  set_stock(1);  // whoever freed it died before it could say so
  settle(*runner_);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
}

TEST_P(LackingTest, WhoWaitsIsUndoneByHandAndForgotten) {
  const auto saga = buyer(1h);
  know(saga);
  const Started begun = start(saga, {.amount = 1});
  go_on();
  db().write("by hand", [&](Transaction& tx) { runner_->compensate(tx, begun.id, "a person"); });
  EXPECT_EQ(rows_in("skald_shortage"), 0);
  go_on();
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
}

TEST_P(LackingTest, ManyWhoWaitAreServedAsUnitsComeBack) {
  const auto saga = buyer(1h);
  know(saga);
  std::vector<Started> begun;
  for (int i = 0; i < 40; ++i) begun.push_back(start(saga, {.amount = 1}));
  go_on();
  for (int i = 0; i < 40; ++i) {
    give(1);
    go_on();
    const auto ended =
        std::ranges::count_if(begun, [&](const Started& one) { return view(one.id).status == SagaStatus::COMPLETED; });
    ASSERT_EQ(ended, i + 1);
  }
}

}  // namespace
}  // namespace skald::saga
