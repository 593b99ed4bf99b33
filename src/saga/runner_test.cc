#include "saga/runner.h"

#include "saga/saga_fixture.h"
#include "support/hand_clock.h"

namespace skald::saga {
namespace {

class RunnerTest : public SagaFixture {};
INSTANTIATE_TEST_SUITE_P(Both, RunnerTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

std::vector<std::string> statuses(const SagaView& view) {
  std::vector<std::string> out;
  for (const StepView& step : view.steps) out.push_back(step.name + " " + step.status);
  return out;
}
using Lines = std::vector<std::string>;

TEST_P(RunnerTest, LocalStepsThatAreReadyShareOneTransaction) {
  const auto trip =
      Saga<Trip>("trip").local("a", adds("a")).undo(removes("a")).local("b", adds("b")).undo(removes("b"));
  know(trip);
  const Started done = start(trip, {.name = "x"});
  EXPECT_EQ(done.status, SagaStatus::COMPLETED) << "with its first commit";
  EXPECT_EQ(statuses(view(done.id)), (Lines{"a DONE", "b DONE"}));
  EXPECT_EQ(effects("a") + effects("b"), 2);
}

// A machine so busy that each step takes longer than a transaction should.
class SlowSteps : public RunnerTest {
 protected:
  SlowSteps() {
    know(trip_);
    runner_ = std::make_unique<Runner>(Env{slow_, *random_, spans_}, db(), registry_,
                                       RunnerHooks{[] { return std::string("w1"); }, {}, {}, {}, {}});
  }
  test::HandClock slow_;
  Duration each_ = 30ms;
  Saga<Trip> trip_ = Saga<Trip>("trip")
                         .local("a", [this](Local&, Trip&) { slow_.advance(each_); })
                         .nothing_to_undo()
                         .local("b", [this](Local&, Trip&) { slow_.advance(each_); })
                         .nothing_to_undo()
                         .local("c", refuses())
                         .nothing_to_undo();
};
INSTANTIATE_TEST_SUITE_P(Both, SlowSteps, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(SlowSteps, OfANewSagaAreToldToItsStarter) {
  const Started begun = start(trip_);
  EXPECT_EQ(begun.status, SagaStatus::COMPENSATED);
  ASSERT_TRUE(begun.error);
  EXPECT_EQ(begun.error->code, "NO");
}

TEST_P(SlowSteps, HoldUpNobodyForSeconds) {
  each_ = 600ms;
  EXPECT_EQ(start(trip_).status, SagaStatus::RUNNING);
  settle(*runner_);
  EXPECT_EQ(rows_in("skald_saga WHERE live = 1"), 0);
}

TEST_P(RunnerTest, ARefusalUndoesInReverseInTheSameTransaction) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .local("b", adds("b"))
                        .undo([](Local& step, Trip&) {
                          count(step, "b", -1);
                          count(step, "undo b");
                        })
                        .local("c",
                               [](Local& step, Trip&) {
                                 count(step, "c");
                                 throw Refused("SOLD_OUT", "no seat left");
                               })
                        .nothing_to_undo();
  know(trip);
  const Started done = start(trip);
  EXPECT_EQ(done.status, SagaStatus::COMPENSATED);
  ASSERT_TRUE(done.error);
  EXPECT_EQ(done.error->code, "SOLD_OUT");
  EXPECT_EQ(effects("a"), 0);
  EXPECT_EQ(effects("undo b"), 1);
  EXPECT_EQ(effects("c"), 0) << "the refusing step's own work is discarded";
  EXPECT_EQ(statuses(view(done.id)), (Lines{"a DONE", "b DONE", "c REFUSED", "b UNDONE", "a UNDONE"}));
}

TEST_P(RunnerTest, ARollbackUndoesWhereThatIsDeclared) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("undo a"))
                        .undo(by_rollback)
                        .local("b", refuses())
                        .nothing_to_undo();
  know(trip);
  EXPECT_EQ(start(trip).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("a"), 0);
  EXPECT_EQ(effects("undo a"), 0);
}

TEST_P(RunnerTest, ACallIsMadeAfterItsIntentIsCommitted) {
  std::optional<SagaStatus> seen;
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .remote("call",
                                [&](Remote& step, Trip& t) {
                                  seen = view(step.saga_id()).status;
                                  t.ticket = "T1";
                                })
                        .pivot()
                        .local("b", adds("b"));
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(seen, SagaStatus::RUNNING);
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED);
  EXPECT_NE(view(done.id).state.text.find("T1"), std::string::npos);
  EXPECT_EQ(effects("b"), 1);
}

TEST_P(RunnerTest, AnUnknownResultIsAskedForAgainWithTheSameKey) {
  runner_ = runner_as("w1", registry_, 1h);
  std::vector<std::string> keys;
  const auto trip = Saga<Trip>("trip")
                        .remote("call",
                                [&](Remote& step, Trip&) {
                                  keys.push_back(step.idempotency_key());
                                  if (keys.size() < 4) throw CommitUnknown("TIMEOUT", "no answer");
                                })
                        .retry(2, 1ms)
                        .pivot();
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED) << "unknown results do not count as failures";
  ASSERT_EQ(keys.size(), 4u);
  for (const auto& key : keys) EXPECT_EQ(key, keys[0]);
}

TEST_P(RunnerTest, DefiniteFailuresAreTriedAsOftenAsDeclaredThenUndone) {
  int calls = 0;
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .remote("call",
                                [&](Remote&, Trip&) {
                                  ++calls;
                                  throw Unavailable("DOWN", "nobody is there");
                                })
                        .retry(3, 1ms)
                        .nothing_to_undo();
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(RunnerTest, AResultSurvivesTheFailureOfWhatFollows) {
  int calls = 0, tries = 0;
  const auto trip = Saga<Trip>("trip")
                        .remote("call",
                                [&](Remote&, Trip& t) {
                                  ++calls;
                                  t.ticket = "T1";
                                })
                        .pivot()
                        .local("b",
                               [&](Local& step, Trip& t) {
                                 if (++tries < 3) throw Busy("LATER", "not now");
                                 EXPECT_EQ(t.ticket, "T1");
                                 count(step, "b");
                               })
                        .retry(5, 1ms);
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(effects("b"), 1);
}

TEST_P(RunnerTest, AfterThePivotItGoesForwardUntilAPersonIsCalled) {
  bool fixed = false;
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .local("p", adds("p"))
                        .pivot()
                        .local("b",
                               [&](Local& step, Trip&) {
                                 if (!fixed) throw Refused("NO", "no");
                                 count(step, "b");
                               })
                        .retry(3, 1us);
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(view(done.id).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(effects("a"), 1) << "nothing is undone behind the pivot";
  fixed = true;
  db().write("retry", [&](Transaction& tx) { runner_->retry(tx, done.id); });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("b"), 1);
}

TEST_P(RunnerTest, AnUndoThatKeepsFailingCallsAPerson) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(refuses("BROKEN"))
                        .retry(3, 1us)
                        .local("b", refuses())
                        .nothing_to_undo();
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(view(done.id).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(view(done.id).error->code, "BROKEN");
}

TEST_P(RunnerTest, AnotherWorkerGoesOnAndTheOldOneChangesNothing) {
  Runner* second = nullptr;
  int calls = 0;
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .remote("call",
                                [&](Remote&, Trip&) {
                                  if (++calls > 1) return;
                                  die("w1");  // in the middle of the first call
                                  second->note_due(Duration::zero());
                                  settle(*second);
                                })
                        .pivot()
                        .local("b", adds("b"));
  know(trip);
  const auto other = runner_as("w2");
  second = other.get();
  const Started done = start(trip);
  while (runner_->run_one()) {}
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(calls, 2) << "asked again with the same key";
  EXPECT_EQ(effects("a"), 1);
  EXPECT_EQ(effects("b"), 1) << "the old owner's commit came too late";
}

TEST_P(RunnerTest, StartedInATransactionItRunsWhenThatHasCommitted) {
  const auto trip = Saga<Trip>("trip").local("a", adds("a")).nothing_to_undo().deadline(1h);
  know(trip);
  const auto& definition = registry_.latest("trip");
  const auto start_in = [&](Transaction& tx, OnDuplicate policy) {
    return runner_->start_in(tx, definition, std::make_shared<Trip>(), {.key = "k", .on_duplicate = policy});
  };
  EXPECT_THROW(db().write("refused",
                          [&](Transaction& tx) {
                            start_in(tx, OnDuplicate::join);
                            throw Refused("NO", "no");
                          }),
               Refused);
  EXPECT_EQ(rows_in("skald_saga"), 0);
  Started begun;
  db().write("handler", [&](Transaction& tx) {
    begun = start_in(tx, OnDuplicate::join);
    EXPECT_EQ(start_in(tx, OnDuplicate::join).id, begun.id) << "an event that comes again";
    EXPECT_THROW(start_in(tx, OnDuplicate::refuse), Conflict);
  });
  EXPECT_EQ(effects("a"), 0);
  runner_->note_due(Duration::zero());
  settle(*runner_);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(RunnerTest, OneLiveSagaPerTypeAndKey) {
  const auto trip = Saga<Trip>("trip").sleep("nap", 1h);
  know(trip);
  const Started first = start(trip, {}, {.key = "k"});
  const Started again = start(trip, {}, {.key = "k"});
  EXPECT_TRUE(again.joined);
  EXPECT_EQ(again.id, first.id);
  EXPECT_THROW(start(trip, {}, {.key = "k", .on_duplicate = OnDuplicate::refuse}), Conflict);
  EXPECT_FALSE(start(trip, {}, {.key = "k", .on_duplicate = OnDuplicate::allow}).joined);
  EXPECT_FALSE(start(trip, {}, {.key = "other"}).joined);
}

TEST_P(RunnerTest, AStaleStepGoesBackToTheOneThatRead) {
  int reads = 0;
  const auto trip = Saga<Trip>("trip")
                        .local("read",
                               [&](Local& step, Trip& t) {
                                 t.amount = ++reads;
                                 count(step, "read");
                               })
                        .undo(removes("read"))
                        .local("between", adds("between"))
                        .undo(removes("between"))
                        .local("write",
                               [&](Local&, Trip& t) {
                                 if (t.amount < 3) throw Stale("CHANGED", "it has changed");
                               })
                        .nothing_to_undo()
                        .rereads("read")
                        .retry(5, 1ms);
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(reads >= 3, true);
  EXPECT_EQ(effects("read"), 1);
  EXPECT_EQ(effects("between"), 1);
}

TEST_P(RunnerTest, TheDeadlineUndoesBeforeThePivot) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .await("answer", "yes", [](Local&, Trip&, const RawJson&) {})
                        .timeout(1h)
                        .deadline(1ms);
  know(trip);
  const Started done = run(trip);
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPENSATED) << "it wakes by itself, long before the signal is late";
  EXPECT_EQ(view(done.id).error->code, "DEADLINE");
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(RunnerTest, ADeadlineThatIsOverHurriesNoCallWithoutAnAnswer) {
  const auto trip = Saga<Trip>("trip")
                        .remote("call", [](Remote&, Trip&) { throw CommitUnknown("NO_ANSWER", "lost"); })
                        .retry(3, 10s)
                        .nothing_to_undo()
                        .deadline(1us);
  know(trip);
  const Started done = run(trip);
  const SagaView seen = view(done.id);
  EXPECT_EQ(seen.steps.size(), 1u);
  EXPECT_GE(seen.wakes_at, clock_->now() + 5s);
}

TEST_P(RunnerTest, ATroubleThatIsNotMetAgainIsForgotten) {
  int looks = 0;
  const auto saga = [&](std::string type) {
    return Saga<Trip>(std::move(type))
        .local("look", [&](Local&, Trip& t) { t.amount = ++looks; })
        .nothing_to_undo()
        .local("first time", refuses())
        .nothing_to_undo()
        .when([](const Trip& t) { return t.amount == 1; });
  };
  const auto last = saga("last"), not_last = saga("not last").local("a", adds("a")).nothing_to_undo();
  know(last);
  know(not_last);
  EXPECT_EQ(run(last).status, SagaStatus::COMPLETED);
  looks = 0;
  EXPECT_EQ(run(not_last).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("a"), 1);
}

}  // namespace
}  // namespace skald::saga
