// What is kept of sagas that have ended, and for how long.
#include <gtest/gtest.h>

#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class RetentionTest : public SagaFixture {
 protected:
  std::int64_t forget(Duration age, int most = 100) {
    return db().write_result("forget",
                             [&](Transaction& tx) { return tables::saga::forget_ended(tx, tx.now() - age, most); });
  }
};
INSTANTIATE_TEST_SUITE_P(Both, RetentionTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(RetentionTest, EndedSagasGoWithTheirSignalsAndLiveOnesStay) {
  const auto trip = Saga<Trip>("trip").await("go", "go", [](Local&, Trip&, const RawJson&) {}).timeout(1h);
  know(trip);
  const Started ended = start(trip), live = start(trip);
  for (const std::string& id : {ended.id, live.id})
    db().write("signal", [&](Transaction& tx) { runner_->signal(tx, id, id == ended.id ? "go" : "other", "{}", "s"); });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  ASSERT_EQ(view(ended.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(forget(1h), 0);
  EXPECT_EQ(forget(-1h), 1);
  EXPECT_EQ(rows_in("skald_saga"), 1);
  EXPECT_EQ(rows_in("skald_signal"), 1);
  EXPECT_EQ(view(live.id).status, SagaStatus::WAITING);
}

TEST_P(RetentionTest, AChildIsKeptForItsParentsSake) {
  const auto leg = Saga<Trip>("leg").local("fly", adds("leg")).nothing_to_undo();
  const auto trip = Saga<Trip>("trip")
                        .child<Trip>(
                            "leg", leg, [](const Trip& t) { return t; }, [](Local&, Trip&, const Trip&) {})
                        .undo(removes("leg"))
                        .await("go", "go", [](Local&, Trip&, const RawJson&) {})
                        .timeout(1h);
  know(leg);
  know(trip);
  const Started begun = run(trip);
  ASSERT_EQ(view(begun.id + ".0").status, SagaStatus::COMPLETED);
  EXPECT_EQ(forget(-1h), 0);
  db().write("signal", [&](Transaction& tx) { runner_->signal(tx, begun.id, "go", "{}", "s"); });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  EXPECT_EQ(forget(-1h, 1), 1) << "no more at once than asked for";
  EXPECT_EQ(forget(-1h), 1);
  EXPECT_EQ(rows_in("skald_saga"), 0);
}

}  // namespace
}  // namespace skald::saga
