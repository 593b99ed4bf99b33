// The locks of a child are its root's: for as long as the root runs, whenever the child took them.
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

// Where the child commits between taking its lock and its end.
enum class Commits { at_its_end, in_between };

class ChildLocksTest : public SagaFixture {
 protected:
  static Saga<Trip> child(Commits commits, bool refused = false) {
    Saga<Trip> saga("child");
    saga.local("c", adds("c")).undo(removes("c")).holds("product", &Trip::name, exclusive, reject);
    if (commits == Commits::in_between) saga.commit();
    return saga
        .local("d",
               [refused](Local& step, Trip&) {
                 count(step, "d");
                 if (refused) throw Refused("NO", "the business says no");
               })
        .nothing_to_undo();
  }
  static Saga<Trip> root(const Saga<Trip>& child) {
    return Saga<Trip>("root")
        .child<Trip>(
            "child", child, [](const Trip& trip) { return trip; }, [](Local&, Trip&, const Trip&) {})
        .nothing_to_undo()
        .await("go", "go")
        .timeout(1h);
  }
  // Takes the same and ends at once, or waits for it.
  static Saga<Trip> rival(WhenBusy when_busy) {
    return Saga<Trip>("rival")
        .local("r", adds("r"))
        .undo(removes("r"))
        .holds("product", &Trip::name, exclusive, when_busy);
  }
  void signal(const std::string& id) {
    db().write("go", [&](Transaction& tx) { runner_->signal(tx, id, "go", "{}", "s"); });
    settle(*runner_);
  }
  void expect_kept_until_the_root_ends(Commits commits) {
    const auto own_child = child(commits);
    const auto whole = root(own_child);
    const auto other = rival(reject);
    know(own_child);
    know(whole);
    know(other);
    const Started begun = run(whole, {.name = "lamp"});
    ASSERT_EQ(view(begun.id).step, "go");
    ASSERT_EQ(effects("c"), 1);
    EXPECT_EQ(rows_in("skald_lock"), 1);

    const Started refused = run(other, {.name = "lamp"});
    EXPECT_EQ(view(refused.id).status, SagaStatus::COMPENSATED);
    ASSERT_TRUE(view(refused.id).error);
    EXPECT_EQ(view(refused.id).error->code, "BUSY");
    EXPECT_NE(view(refused.id).error->message.find(begun.id), std::string::npos) << "it is the root that holds it";
    EXPECT_EQ(view(run(other, {.name = "vase"}).id).status, SagaStatus::COMPLETED);

    signal(begun.id);
    EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
    EXPECT_EQ(rows_in("skald_lock"), 0);
    EXPECT_EQ(view(run(other, {.name = "lamp"}).id).status, SagaStatus::COMPLETED);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, ChildLocksTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(ChildLocksTest, ALockTakenInTheTransactionThatEndsTheChildKeepsRivalsOut) {
  expect_kept_until_the_root_ends(Commits::at_its_end);
}

TEST_P(ChildLocksTest, ALockTakenInAnEarlierOneKeepsRivalsOut) { expect_kept_until_the_root_ends(Commits::in_between); }

TEST_P(ChildLocksTest, ARivalThatWaitsIsLetInByTheRootsEnd) {
  const auto own_child = child(Commits::at_its_end);
  const auto whole = root(own_child);
  const auto other = rival(wait_up_to(1h));
  know(own_child);
  know(whole);
  know(other);
  const Started begun = run(whole, {.name = "lamp"});
  const Started waits = run(other, {.name = "lamp"});
  EXPECT_EQ(view(waits.id).status, SagaStatus::WAITING);
  EXPECT_EQ(effects("r"), 0);
  signal(begun.id);
  EXPECT_EQ(view(waits.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

// Fused or not, nobody can tell: an undone child's lock goes with its root, which is undone next.
TEST_P(ChildLocksTest, WhatAnUndoneChildTookIsGoneWithItsRoot) {
  for (const Commits commits : {Commits::at_its_end, Commits::in_between}) {
    Registry registry;
    const auto own_child = child(commits, true);
    const auto whole = root(own_child);
    registry.add(own_child.definition());
    registry.add(whole.definition());
    const auto runner = runner_as("w1", registry);
    const Started begun = runner->start(registry.latest("root"), std::make_shared<Trip>(), {});
    settle(*runner);
    EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
    EXPECT_EQ(effects("c"), 0);
    EXPECT_EQ(rows_in("skald_lock"), 0);
  }
}

TEST_P(ChildLocksTest, TwoChildrenOfOneRootShareWhatOneOfThemTook) {
  const auto own_child = child(Commits::at_its_end);
  const auto whole = Saga<Trip>("root")
                         .child<Trip>(
                             "one", own_child, [](const Trip& trip) { return trip; }, [](Local&, Trip&, const Trip&) {})
                         .nothing_to_undo()
                         .child<Trip>(
                             "two", own_child, [](const Trip& trip) { return trip; }, [](Local&, Trip&, const Trip&) {})
                         .nothing_to_undo();
  know(own_child);
  know(whole);
  EXPECT_EQ(view(run(whole, {.name = "lamp"}).id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("c"), 2);
  EXPECT_EQ(rows_in("skald_lock"), 0);
}

}  // namespace
}  // namespace skald::saga
