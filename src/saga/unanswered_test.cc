// What happens beside a failure: other branches without an answer, a child that has ended.
#include "saga/runner.h"
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class UnansweredTest : public SagaFixture {
 protected:
  // Two branches with effects outside of the database, by key.
  Saga<Trip> two_branches(std::function<void(Remote&, Trip&)> right, Duration deadline) {
    const auto left = [this](Remote& call, Trip&) {
      outside_.insert(std::string(call.action_key()));
      if (!std::exchange(answered_, true)) throw CommitUnknown("LOST", "no answer came");
    };
    const auto cancel = [this](Remote& call, Trip&) { outside_.erase(std::string(call.action_key())); };
    return Saga<Trip>("trip")
        .all("both", {{"left", left, cancel}, {"right", std::move(right), cancel}})
        .retry(3, 1ms)
        .deadline(deadline);
  }

  std::set<std::string> outside_;
  bool answered_ = false;
};
INSTANTIATE_TEST_SUITE_P(Both, UnansweredTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(UnansweredTest, ABranchWithoutAnAnswerIsCancelledWhereTheOtherIsRefused) {
  const auto trip = two_branches([](Remote&, Trip&) { throw Refused("NO", "the answer is no"); }, 1h);
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPENSATED);
  EXPECT_TRUE(outside_.empty());
}

TEST_P(UnansweredTest, ABranchWithoutAnAnswerIsCancelledAtTheDeadlineThoughTheOtherIsDone) {
  const auto trip = two_branches([this](Remote& call, Trip&) { outside_.insert(call.idempotency_key()); }, 1us);
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPENSATED);
  EXPECT_TRUE(outside_.empty());
}

TEST_P(UnansweredTest, ABranchWithoutAnAnswerIsAskedAgainAlone) {
  int right = 0;
  const auto trip = two_branches([&](Remote&, Trip&) { ++right; }, 1h);
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(outside_.size(), 1u);
  EXPECT_EQ(right, 1);
}

TEST_P(UnansweredTest, BranchesMayComeAfterThePivot) {
  int calls = 0;
  const auto count = [&](Remote&, Trip&) { ++calls; };
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .pivot()
                        .all("both", {{.name = "left", .run = count}, {.name = "right", .run = count}});
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(calls, 2);
}

Saga<Trip> parent_of(const Saga<Trip>& leg, std::function<void(Local&, Trip&, const Trip&)> then) {
  return Saga<Trip>("trip")
      .child<Trip>(
          "leg", leg, [](const Trip& t) { return t; }, std::move(then))
      .undo(removes("leg"))
      .retry(3, 1ms);
}

TEST_P(UnansweredTest, AChildsEndThatCannotBeTakenInNowIsTakenInLater) {
  const auto leg = Saga<Trip>("leg").local("fly", adds("leg")).nothing_to_undo();
  int tries = 0;
  const auto trip = parent_of(leg, [&](Local&, Trip&, const Trip&) {
    if (++tries == 1) throw Busy("BUSY", "not now");
  });
  know(leg);
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(effects("leg"), 1);
}

TEST_P(UnansweredTest, ACompletedChildIsUndoneWhereItsParentRefusesWhatItHears) {
  const auto leg = Saga<Trip>("leg").local("fly", adds("leg")).nothing_to_undo();
  const auto trip = parent_of(leg, [](Local&, Trip&, const Trip&) { throw Refused("NO", "not like that"); });
  know(leg);
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("leg"), 0);
}

TEST_P(UnansweredTest, AChildThatWasUndoneIsNotUndoneAgain) {
  const auto leg =
      Saga<Trip>("leg").local("fly", adds("leg")).undo(removes("leg")).local("land", refuses()).nothing_to_undo();
  const auto trip = parent_of(leg, [](Local&, Trip&, const Trip&) {});
  know(leg);
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("leg"), 0);
}

// Its first key may have been cancelled for ever.
TEST_P(UnansweredTest, ACallThatWasUndoneIsMadeAnewUnderAnotherKey) {
  std::set<std::string> cancelled;
  int calls = 0;
  const auto trip = Saga<Trip>("trip")
                        .remote("book",
                                [&](Remote& call, Trip&) {
                                  if (cancelled.contains(call.idempotency_key()))
                                    throw Refused("CANCELLED", "too late");
                                  outside_.insert(call.idempotency_key());
                                  ++calls;
                                })
                        .undo([&](Remote& call, Trip&) {
                          outside_.erase(std::string(call.action_key()));
                          cancelled.emplace(call.action_key());
                        })
                        .local("check",
                               [&](Local&, Trip&) {
                                 if (calls == 1) throw Stale("STALE", "it has changed");
                               })
                        .rereads("book")
                        .nothing_to_undo();
  know(trip);
  EXPECT_EQ(view(run(trip).id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(outside_.size(), 1u);
}

}  // namespace
}  // namespace skald::saga
