// Sagas that something went wrong with beyond their steps: what keeps them from harm, and what people can do.
#include "saga/runner.h"
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class RescueTest : public SagaFixture {
 protected:
  static Saga<Trip> waiting(std::string type, int version = 1) {
    return Saga<Trip>(std::move(type))
        .version(version)
        .local("a", adds("a"))
        .undo(removes("a"))
        .await("go", "go", [](Local&, Trip&, const RawJson&) {})
        .timeout(1h)
        .local("end", adds("end"))
        .pivot();
  }
  void signal(const std::string& id) {
    db().write("go", [&](Transaction& tx) { runner_->signal(tx, id, "go", "{}", "s" + id); });
  }
  void set_state(const std::string& id, const std::string& state) {
    db().write("set state",
               [&](Transaction& tx) { tx.execute("UPDATE skald_saga SET state = $2 WHERE id = $1", id, state); });
  }
  void retry(const std::string& id) {
    db().write("retry", [&](Transaction& tx) { runner_->retry(tx, id); });
    settle(*runner_);
  }
  void compensate(const std::string& id) {
    db().write("undo", [&](Transaction& tx) { runner_->compensate(tx, id, "by hand"); });
    settle(*runner_);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, RescueTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(RescueTest, OneThatCannotBeReadIsParkedAndThoseClaimedWithItGoOn) {
  const auto trip = waiting("trip");
  know(trip);
  const std::string broken = run(trip).id, fine = run(trip).id;
  const std::string state = view(broken).state.text;
  set_state(broken, "{");
  signal(broken);
  signal(fine);
  settle(*runner_);
  EXPECT_EQ(view(fine).status, SagaStatus::COMPLETED);
  ASSERT_EQ(view(broken).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(view(broken).error->code, "UNREADABLE");
  EXPECT_EQ(owned_by("w1"), 0);

  set_state(broken, state);
  retry(broken);
  EXPECT_EQ(view(broken).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("end"), 2);
}

TEST_P(RescueTest, AProgramThatDoesNotKnowTheVersionLeavesItToThoseWhoDo) {
  Registry old;
  old.add(waiting("trip").definition());
  const auto behind = runner_as("old", old);
  know(waiting("trip"));
  know(waiting("trip", 2));
  const Started begun = run(waiting("trip", 2));
  signal(begun.id);
  behind->note_due(Duration::zero());
  settle(*behind);
  EXPECT_EQ(view(begun.id).status, SagaStatus::WAITING);
  settle(*runner_);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
}

TEST_P(RescueTest, AnUndoOnTheWayToRereadThatNeededHelpGoesForwardAgain) {
  bool broken = true, stale = true;
  const auto undo = [&](Local& step, Trip&) {
    if (broken) throw Refused("BROKEN", "this undo does not work");
    count(step, "write", -1);
  };
  const auto decide = [&](Local&, Trip&) {
    if (std::exchange(stale, false)) throw Stale("CHANGED", "somebody was faster");
  };
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .local("read", adds("read"))
                        .undo(removes("read"))
                        .local("write", adds("write"))
                        .undo(undo)
                        .retry(3, 1us)
                        .commit()
                        .local("decide", decide)
                        .rereads("read")
                        .retry(3, 1us)
                        .nothing_to_undo();
  know(trip);
  const Started begun = run(trip);
  ASSERT_EQ(view(begun.id).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(view(begun.id).error->code, "BROKEN");
  broken = false;
  retry(begun.id);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_FALSE(view(begun.id).error);
  for (const char* what : {"a", "read", "write"}) EXPECT_EQ(effects(what), 1) << what;
}

TEST_P(RescueTest, WhyItWasUndoneIsStillKnownWhenAnUndoNeededHelp) {
  bool broken = true;
  const auto undo = [&](Local& step, Trip&) {
    if (broken) throw Refused("BROKEN", "this undo does not work");
    count(step, "a", -1);
  };
  const auto trip =
      Saga<Trip>("trip").local("a", adds("a")).undo(undo).retry(3, 1us).local("b", refuses()).nothing_to_undo();
  know(trip);
  const Started begun = run(trip);
  ASSERT_EQ(view(begun.id).error->code, "BROKEN");
  broken = false;
  retry(begun.id);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id).error->code, "NO");
}

TEST_P(RescueTest, WhatKilledItsWorkersCanBeUndone) {
  know(waiting("trip"));
  const Started begun = run(waiting("trip"));
  db().write("three deaths", [&](Transaction& tx) {
    for (const char* worker : {"a", "b", "c"})
      tables::blame::count_report(tx, worker, tables::blame::Kind::saga, begun.id);
    tx.execute("UPDATE skald_saga SET wake_at = 0 WHERE id = $1", begun.id);
  });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  ASSERT_EQ(view(begun.id).error->code, "CRASHED");
  compensate(begun.id);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(RescueTest, OneThatMovesToANewDefinitionIsUndoneByThat) {
  know(waiting("trip"));
  const Started begun = run(waiting("trip"));
  know(Saga<Trip>("trip")
           .version(2)
           .local("before", adds("before"))
           .undo(removes("before"))
           .local("a", adds("a"))
           .undo(removes("a"))
           .await("go", "go", [](Local&, Trip&, const RawJson&) {})
           .timeout(1h)
           .migrates_from(1, [](const Migrated& saga) { return saga; }));
  compensate(begun.id);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("a"), 0);
  EXPECT_EQ(effects("before"), 0);
}

TEST_P(RescueTest, AChildHasADeadlineOfItsOwn) {
  const auto leg = waiting("leg").deadline(1ms);
  const auto trip = Saga<Trip>("trip")
                        .child<Trip>(
                            "leg", leg, [](const Trip& from) { return from; }, [](Local&, Trip&, const Trip&) {})
                        .nothing_to_undo();
  know(leg);
  know(trip);
  const Started begun = run(trip);
  ASSERT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id).error->code, "DEADLINE");
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(RescueTest, AnAnswerThatWasNotUnderstoodIsAskedForAgainWithItsKey) {
  std::vector<std::string> keys;
  const auto charge = [&](Remote& call, Trip&) {
    keys.push_back(call.idempotency_key());
    if (keys.size() == 1) from_json<Trip>("<html>");
  };
  const auto trip = Saga<Trip>("trip").remote("charge", charge).retry(3, 1ms).pivot();
  know(trip);
  const Started begun = run(trip);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0], keys[1]);
}

}  // namespace
}  // namespace skald::saga
