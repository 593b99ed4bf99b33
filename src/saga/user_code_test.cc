// Whose failure it is when a transaction fails that runs a step: docs/decisions/0024.
#include <gmock/gmock.h>

#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

using testing::AnyOf;
using Code = std::function<void(Local&, Trip&)>;

class UserCodeTest : public SagaFixture {
 protected:
  // Until it is parked or has ended, or has had its chances.
  SagaView run_until_settled(const Saga<Trip>& trip) {
    know(trip);
    const std::string id = start(trip).id;
    for (const Instant end = clock_->steady() + 10s; clock_->steady() < end;) {
      settle(*runner_);
      const SagaStatus status = view(id).status;
      if (status == SagaStatus::NEEDS_HELP || has_ended(status)) break;
    }
    return view(id);
  }
  // "b" comes after the first commit, so that nobody's call is at fault.
  static Saga<Trip> behind_the_pivot(const Code& code) {
    return Saga<Trip>("trip").local("a", adds("a")).pivot().commit().local("b", code).retry(3, 1ms);
  }
  static Saga<Trip> in_the_undo(const Code& code) {
    return Saga<Trip>("trip")
        .local("a", adds("a"))
        .undo(code)
        .retry(3, 1ms)
        .commit()
        .local("b", refuses())
        .nothing_to_undo();
  }
  void expect_help(const Saga<Trip>& trip, const testing::Matcher<std::string>& code) {
    const SagaView parked = run_until_settled(trip);
    EXPECT_EQ(parked.status, SagaStatus::NEEDS_HELP);
    ASSERT_TRUE(parked.error);
    EXPECT_THAT(parked.error->code, code);
    EXPECT_EQ(owned_by("w1"), 0);
  }
  static Code throws_unavailable() {
    return [](Local&, Trip&) { throw Unavailable("PEER_DOWN", "not now"); };
  }
};
INSTANTIATE_TEST_SUITE_P(Both, UserCodeTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(UserCodeTest, AStepBehindThePivotThatIsAlwaysUnavailableNeedsHelp) {
  expect_help(behind_the_pivot(throws_unavailable()), "PEER_DOWN");
}

TEST_P(UserCodeTest, AnUndoThatIsAlwaysUnavailableNeedsHelp) {
  expect_help(in_the_undo(throws_unavailable()), "PEER_DOWN");
}

TEST_P(UserCodeTest, WhatIsNoExceptionHarmsNobodyElse) {
  expect_help(behind_the_pivot([](Local&, Trip&) { throw 42; }), "STEP_FAILED");
}

TEST_P(UserCodeTest, NorDoesACallThatThrowsSuch) {
  const auto trip = Saga<Trip>("trip").remote("call", [](Remote&, Trip&) { throw 42; }).retry(3, 1ms).pivot();
  expect_help(trip, "STEP_FAILED");
}

TEST_P(UserCodeTest, SoDoesOneThatCannotTellWhatBecameOfItsOwnCommitElsewhere) {
  expect_help(behind_the_pivot([](Local&, Trip&) { throw CommitUnknown("COMMIT_UNKNOWN", "who knows"); }),
              "COMMIT_UNKNOWN");
}

TEST_P(UserCodeTest, AStepBeforeThePivotIsTriedAsOftenAsDeclaredAndThenUndone) {
  int runs = 0;
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .commit()
                        .local("b",
                               [&](Local&, Trip&) {
                                 ++runs;
                                 throw Unavailable("PEER_DOWN", "not now");
                               })
                        .retry(3, 1ms)
                        .nothing_to_undo();
  const SagaView undone = run_until_settled(trip);
  ASSERT_EQ(undone.status, SagaStatus::COMPENSATED);
  EXPECT_EQ(undone.error->code, "PEER_DOWN");
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(UserCodeTest, ItIsTheStepsFailureInTheFirstTransactionToo) {
  int runs = 0;
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .local("b",
                               [&](Local&, Trip&) {
                                 if (++runs == 1) throw Unavailable("PEER_DOWN", "not now");
                               })
                        .retry(3, 1ms)
                        .nothing_to_undo();
  EXPECT_EQ(run_until_settled(trip).status, SagaStatus::COMPLETED);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(UserCodeTest, OtherSagasGoOnBesideIt) {
  const auto bad = behind_the_pivot(throws_unavailable());
  const auto good = Saga<Trip>("good").local("g", adds("g")).pivot().commit().local("h", adds("h"));
  know(bad);
  know(good);
  const std::string stuck = start(bad).id;
  for (int i = 0; i < 20; ++i) start(good);
  while (runner_->run_one()) {}
  EXPECT_EQ(effects("h"), 20);
  settle(*runner_);
  EXPECT_EQ(view(stuck).status, SagaStatus::NEEDS_HELP);
}

// A wrong statement that nobody waits for shows in a transaction that is not the step's any more.
TEST_P(UserCodeTest, AStatementThatFailsBehindItsStepNeedsHelp) {
  const auto trip = behind_the_pivot([](Local& step, Trip&) {
    step->enqueue("INSERT INTO effect (what, n) VALUES ('a', 1)");  // is there already
  });
  expect_help(trip, "UNIQUE_VIOLATION");
}

// What a definition asks of the state is the user's code, too: when(), and which locks a step needs.
class QuestionTest : public UserCodeTest {
 protected:
  static Saga<Trip> with_b_behind_the_pivot() {
    return Saga<Trip>("trip").local("a", adds("a")).pivot().commit().local("b", adds("b")).retry(3, 1ms);
  }
  void expect_undone(const Saga<Trip>& trip, const std::string& code) {
    const SagaView undone = run_until_settled(trip);
    EXPECT_EQ(undone.status, SagaStatus::COMPENSATED);
    ASSERT_TRUE(undone.error);
    EXPECT_EQ(undone.error->code, code);
    EXPECT_EQ(effects("a"), 0);
    EXPECT_EQ(effects("b"), 0);
  }
  static Saga<Trip> with_b_before_the_pivot() {
    return Saga<Trip>("trip")
        .local("a", adds("a"))
        .undo(removes("a"))
        .commit()
        .local("b", adds("b"))
        .nothing_to_undo()
        .retry(3, 1ms);
  }
  static bool is_unavailable(const Trip&) { throw Unavailable("PEER_DOWN", "not now"); }
  static std::string has_no_key(const Trip&) { throw 42; }
};
INSTANTIATE_TEST_SUITE_P(Both, QuestionTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(QuestionTest, AConditionThatAlwaysThrowsBehindThePivotNeedsHelp) {
  expect_help(with_b_behind_the_pivot().when(is_unavailable), "PEER_DOWN");
}

TEST_P(QuestionTest, OneBeforeThePivotUndoesWhatWasDone) {
  expect_undone(with_b_before_the_pivot().when([](const Trip&) -> bool { throw 42; }), "STEP_FAILED");
}

TEST_P(QuestionTest, OneOfACallThatWasNotMadeUndoesWhatWasDone) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .remote("call", [](Remote&, Trip&) { ADD_FAILURE() << "nobody has said that it is wanted"; })
                        .nothing_to_undo()
                        .when([](const Trip&) -> bool { throw 42; });
  expect_undone(trip, "STEP_FAILED");
}

TEST_P(QuestionTest, OneThatGetsBetterCostsAnAttempt) {
  int asked = 0;  // where the first transaction ends, and by the second
  const auto trip =
      with_b_before_the_pivot().when([&](const Trip& state) { return ++asked > 2 || is_unavailable(state); });
  const SagaView ended = run_until_settled(trip);
  EXPECT_EQ(ended.status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("b"), 1);
  EXPECT_EQ(std::ranges::count(ended.steps, "FAILED", &StepView::status), 1);
}

TEST_P(QuestionTest, WhatWasCalledStaysCalledWhereNobodyCanSayWhetherThereIsMore) {
  int calls = 0;
  const auto trip = Saga<Trip>("trip")
                        .each("call", &Trip::legs, [&](Remote&, Trip& state, std::string&) { state.amount = ++calls; })
                        .when([](const Trip& state) { return state.amount == 0 || is_unavailable(state); })
                        .pivot();
  know(trip);
  const std::string id = start(trip, Trip{.legs = {"x", "y"}}).id;
  for (const Instant end = clock_->steady() + 10s; clock_->steady() < end && view(id).status != SagaStatus::NEEDS_HELP;)
    settle(*runner_);
  EXPECT_EQ(view(id).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(view(id).error->code, "PEER_DOWN");
  EXPECT_EQ(calls, 1);
}

TEST_P(QuestionTest, AKeyThatCannotBeToldBehindThePivotNeedsHelp) {
  expect_help(with_b_behind_the_pivot().holds("room", has_no_key, LockMode::exclusive), "STEP_FAILED");
}

TEST_P(QuestionTest, OneOfAStepBeforeThePivotUndoesWhatWasDone) {
  expect_undone(with_b_before_the_pivot().holds("room", has_no_key, LockMode::exclusive), "STEP_FAILED");
}

TEST_P(QuestionTest, SoDoesALockWhoseWaitCannotBeTold) {
  const auto holder = Saga<Trip>("holder")
                          .local("h", adds("h"))
                          .undo(removes("h"))
                          .holds("room", &Trip::name, LockMode::exclusive)
                          .await("go", "go");
  know(holder);
  start(holder);
  expect_undone(with_b_before_the_pivot().holds("room", &Trip::name, LockMode::exclusive,
                                                [](const Trip&) -> WhenBusy { throw Unavailable("PEER_DOWN", "no"); }),
                "PEER_DOWN");
}

// What the server makes of a step's own statements.
class ServerLimitsTest : public UserCodeTest {
 protected:
  std::int64_t pid_of(Local& step) { return step->query("SELECT pg_backend_pid()").get<std::int64_t>(0, 0); }
  bool lives(std::int64_t pid) {
    return other_->read_result(
        [&](Transaction& tx) { return !tx.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1", pid).empty(); });
  }
  // Says nothing until the server has had enough of it, whose last words may be lost with the connection.
  Code pauses_too_long() {
    return [this](Local& step, Trip&) {
      const std::int64_t pid = pid_of(step);
      step->execute("SET LOCAL idle_in_transaction_session_timeout = '1ms'");
      for (int looks = 0; looks < 100'000 && lives(pid); ++looks) {}
      EXPECT_FALSE(lives(pid));
    };
  }
  void kill(std::int64_t pid) {
    other_->write("kill", [&](Transaction& tx) { tx.query("SELECT pg_terminate_backend($1, 5000)", pid); });
  }

  int runs_ = 0;
  std::unique_ptr<Database> other_ = open_postgres(env_, {.url = database_->address(), .connections = 1});
};
INSTANTIATE_TEST_SUITE_P(Both, ServerLimitsTest, testing::Values(Dialect::postgres), dialect_name);

Code takes_too_long() {
  return [](Local& step, Trip&) {
    step->execute("SET LOCAL statement_timeout = '1ms'");
    step->query("SELECT pg_sleep(60)");
  };
}

TEST_P(ServerLimitsTest, AStepThatAlwaysTimesOutNeedsHelp) {
  expect_help(behind_the_pivot(takes_too_long()), "DATABASE_UNAVAILABLE");
}

TEST_P(ServerLimitsTest, AnUndoThatAlwaysTimesOutNeedsHelp) {
  expect_help(in_the_undo(takes_too_long()), "DATABASE_UNAVAILABLE");
}

TEST_P(ServerLimitsTest, SoDoesOneWhoseStatementTimesOutBehindIt) {
  expect_help(behind_the_pivot([](Local& step, Trip&) {
                step->enqueue("SET LOCAL statement_timeout = '1ms'");
                step->enqueue("SELECT pg_sleep(60)");
              }),
              "DATABASE_UNAVAILABLE");
}

TEST_P(ServerLimitsTest, SoDoesOneThatBreaksARuleThatIsCheckedAtTheCommit) {
  db().write("table", [](Transaction& tx) {
    tx.execute(
        "CREATE TABLE later (id BIGINT PRIMARY KEY, other BIGINT REFERENCES later DEFERRABLE INITIALLY DEFERRED)");
  });
  expect_help(behind_the_pivot([](Local& step, Trip&) { step->execute("INSERT INTO later VALUES (1, 2)"); }),
              "CONSTRAINT_VIOLATION");
}

TEST_P(ServerLimitsTest, SoDoesOneThatPausesBeyondTheServersPatience) {
  expect_help(behind_the_pivot(pauses_too_long()), AnyOf("IDLE_IN_TRANSACTION", "CONNECTION_LOST"));
}

// Its pause is noticed by the next step's statement: the blame stays with the one that paused.
TEST_P(ServerLimitsTest, ItIsTheOneThatPausedThatFails) {
  int after = 0;
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .commit()
                        .local("quick", adds("quick"))
                        .undo(removes("quick"))
                        .local("slow", pauses_too_long())
                        .retry(2, 1ms)
                        .nothing_to_undo()
                        .local("after",
                               [&](Local& step, Trip&) {
                                 ++after;
                                 count(step, "after");
                               })
                        .nothing_to_undo();
  const SagaView undone = run_until_settled(trip);
  ASSERT_EQ(undone.status, SagaStatus::COMPENSATED);
  EXPECT_THAT(undone.error->code, AnyOf("IDLE_IN_TRANSACTION", "CONNECTION_LOST"));
  ASSERT_FALSE(undone.steps.empty());
  for (const StepView& step : undone.steps)
    EXPECT_TRUE(step.status != "FAILED" || step.name == "slow") << step.name << " " << step.status;
  EXPECT_EQ(effects("quick"), 0);
  EXPECT_EQ(effects("after"), 0);
}

TEST_P(ServerLimitsTest, AConnectionThatWasLostOnceCostsNoAttempt) {
  const auto trip = behind_the_pivot([this](Local& step, Trip&) {
    if (++runs_ <= 4) kill(pid_of(step));  // beyond what the store tries by itself
    count(step, "b");
  });
  const SagaView ended = run_until_settled(trip);
  EXPECT_EQ(ended.status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("b"), 1);
  for (const StepView& step : ended.steps) EXPECT_EQ(step.status, "DONE") << step.name;
}

TEST_P(ServerLimitsTest, AStepThatLosesItsConnectionEachTimeNeedsHelp) {
  expect_help(behind_the_pivot([this](Local& step, Trip&) {
                kill(pid_of(step));
                count(step, "b");
              }),
              "CONNECTION_LOST");
}

}  // namespace
}  // namespace skald::saga
