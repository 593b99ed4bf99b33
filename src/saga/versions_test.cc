// Sagas in flight while their definition changes.
#include "saga/runner.h"
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class VersionsTest : public SagaFixture {
 protected:
  static auto waits() {
    return [](Local&, Trip&, const RawJson&) {};
  }
  void signal(const std::string& id) {
    db().write("go", [&](Transaction& tx) { runner_->signal(tx, id, "go", "{}", "s"); });
    runner_->note_due(Duration::zero());
    settle(*runner_);
  }
  static Migrated unchanged(const Migrated& saga) { return saga; }
};
INSTANTIATE_TEST_SUITE_P(Both, VersionsTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(VersionsTest, ASagaEndsOnTheVersionThatItBeganWith) {
  const auto first = Saga<Trip>("trip").await("go", "go", waits()).timeout(1h).local("old", adds("old")).pivot();
  const auto second =
      Saga<Trip>("trip").version(2).await("go", "go", waits()).timeout(1h).local("new", adds("new")).pivot();
  know(first);
  const Started begun = run(first);
  know(second);
  signal(begun.id);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("old"), 1);
  EXPECT_EQ(effects("new"), 0);
}

TEST_P(VersionsTest, AMigrationTurnsStateAndStepIntoTheNewOnes) {
  const auto first = Saga<Trip>("trip")
                         .local("a", adds("a"))
                         .undo(removes("a"))
                         .await("go", "go", waits())
                         .timeout(1h)
                         .local("end", adds("old"))
                         .pivot();
  const auto second = Saga<Trip>("trip")
                          .version(2)
                          .local("before", adds("before"))
                          .undo(removes("before"))
                          .local("a", adds("a"))
                          .undo(removes("a"))
                          .await("go", "go", waits())
                          .timeout(1h)
                          .local("end", refuses())
                          .pivot()
                          .migrates_from(1, [](const Migrated& saga) {
                            auto state = from_json<Trip>(saga.state.text);
                            state.name = "moved";
                            return Migrated{saga.next_step, RawJson{to_json(state)}};
                          });
  know(first);
  const Started begun = run(first);
  know(second);
  signal(begun.id);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_NE(view(begun.id).state.text.find("moved"), std::string::npos);
  EXPECT_EQ(effects("a"), 0) << "what the old version did is undone by the new one";
  EXPECT_EQ(effects("before"), 0) << "what it never did is not";
}

TEST_P(VersionsTest, ACallWithoutAnAnswerIsAskedAgainWithItsKeyThoughItsStepHasMoved) {
  std::vector<std::string> keys;
  const auto charge = [&](Remote& call, Trip&) {
    keys.push_back(call.idempotency_key());
    if (keys.size() == 1) throw CommitUnknown("LOST", "no answer came");
  };
  const auto first = Saga<Trip>("trip").remote("charge card", charge).retry(3, 1ms).pivot();
  const auto second = Saga<Trip>("trip")
                          .version(2)
                          .local("before", adds("before"))
                          .undo(removes("before"))
                          .remote("charge card", charge)
                          .retry(3, 1ms)
                          .pivot()
                          .migrates_from(1, unchanged);
  know(first);
  const Started begun = start(first);
  runner_->run_one();
  know(second);
  settle(*runner_);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0], begun.id + "/charge%20card/0");
}

TEST_P(VersionsTest, AParentMovesWhenItsChildHasEnded) {
  const auto leg = Saga<Trip>("leg").await("go", "go", waits()).timeout(1h).local("fly", adds("leg")).pivot();
  const auto make = [](const Trip& trip) { return trip; };
  const auto then = [](Local& step, Trip&, const Trip&) { count(step, "then"); };
  const auto first = Saga<Trip>("trip").child<Trip>("leg", leg, make, then).nothing_to_undo();
  const auto second = Saga<Trip>("trip")
                          .version(2)
                          .local("before", adds("before"))
                          .undo(removes("before"))
                          .child<Trip>("leg", leg, make, then)
                          .nothing_to_undo()
                          .migrates_from(1, unchanged);
  know(leg);
  know(first);
  const Started begun = run(first);
  know(second);
  signal(begun.id + ".0");
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("then"), 1);
}

}  // namespace
}  // namespace skald::saga
