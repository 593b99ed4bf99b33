// each, all, when, child, sleep, await.
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class ConstructsTest : public SagaFixture {};
INSTANTIATE_TEST_SUITE_P(Both, ConstructsTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

void add_leg(Local& step, Trip&, std::string& leg) {
  if (leg == "bad") throw Refused("BAD_LEG", "no such place");
  count(step, "leg");
}
void remove_leg(Local& step, Trip&, std::string&) { count(step, "leg", -1); }

TEST_P(ConstructsTest, EachElementIsDoneAndUndoneByItself) {
  const auto trip = Saga<Trip>("trip").each("legs", &Trip::legs, add_leg).undo(&Trip::legs, remove_leg);
  know(trip);
  EXPECT_EQ(start(trip, {.legs = {"a", "b", "c"}}).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("leg"), 3);
  EXPECT_EQ(start(trip, {.legs = {"a", "b", "bad"}}).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("leg"), 3);
}

TEST_P(ConstructsTest, MoreElementsThanFitInOneTransactionAreAllDone) {
  const auto trip = Saga<Trip>("trip").each("legs", &Trip::legs, add_leg).undo(&Trip::legs, remove_leg);
  know(trip);
  const Started done = run(trip, {.legs = std::vector<std::string>(40, "x")});
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("leg"), 40);
}

TEST_P(ConstructsTest, BranchesEndTogetherAndMergeWhatTheyChanged) {
  int cancelled = 0;
  const auto trip = Saga<Trip>("trip").all(
      "book", {{"air", [](Remote&, Trip& t) { t.ticket = "T"; }, [&](Remote&, Trip&) { ++cancelled; }},
               {"bed",
                [](Remote&, Trip& t) {
                  if (t.name == "bad") throw Refused("FULL", "full");
                  t.hotel = "H";
                },
                {}}});
  know(trip);
  const Started done = run(trip);
  const auto state = from_json<Trip>(view(done.id).state.text);
  EXPECT_EQ(state.ticket, "T");
  EXPECT_EQ(state.hotel, "H");
  EXPECT_EQ(cancelled, 0);
  const Started failed = run(trip, {.name = "bad"});
  EXPECT_EQ(view(failed.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(cancelled, 1);
}

TEST_P(ConstructsTest, AStepThatIsNotWantedIsLeftOutAndNotUndone) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .when([](const Trip& t) { return t.amount > 0; })
                        .local("b", refuses())
                        .nothing_to_undo();
  know(trip);
  EXPECT_EQ(start(trip).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(ConstructsTest, ASleepingSagaGoesOnWhenItsTimeHasCome) {
  const auto trip = Saga<Trip>("trip").sleep("nap", 2ms).local("a", adds("a")).nothing_to_undo();
  know(trip);
  const Started begun = start(trip);
  EXPECT_EQ(begun.status, SagaStatus::WAITING);
  settle(*runner_);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
}

TEST_P(ConstructsTest, ASignalIsReceivedOnce) {
  const auto trip = Saga<Trip>("trip")
                        .await("approval", "approved",
                               [](Local& step, Trip& t, const RawJson& payload) {
                                 t.name = payload.text;
                                 count(step, "a");
                               })
                        .timeout(1h);
  know(trip);
  const Started begun = start(trip);
  EXPECT_EQ(begun.status, SagaStatus::WAITING);
  for (int i = 0; i < 2; ++i)
    db().write("signal", [&](Transaction& tx) { runner_->signal(tx, begun.id, "approved", "\"kim\"", "s1"); });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_NE(view(begun.id).state.text.find("kim"), std::string::npos);
  EXPECT_EQ(effects("a"), 1);
  EXPECT_THROW(db().write("late", [&](Transaction& tx) { runner_->signal(tx, begun.id, "approved", "1", "s2"); }),
               Conflict);
  EXPECT_THROW(db().write("none", [&](Transaction& tx) { runner_->signal(tx, "nobody", "approved", "1", "s2"); }),
               NotFound);
}

TEST_P(ConstructsTest, ASignalThatDoesNotComeInTimeIsARefusal) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .await("approval", "approved", [](Local&, Trip&, const RawJson&) {})
                        .timeout(2ms);
  know(trip);
  const Started begun = run(trip);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id).error->code, "TIMED_OUT");
  EXPECT_EQ(effects("a"), 0);
}

// A step that the starter's transaction does besides, and a signal that only has to come.
Saga<Trip> given_trip(Duration timeout) {
  return Saga<Trip>("trip").given("a").undo(removes("a")).await("approval", "approved").timeout(timeout);
}

class GivenTest : public ConstructsTest {
 protected:
  std::string start_given(Duration timeout) {
    know(given_trip(timeout));
    Started begun;
    db().write("start", [&](Transaction& tx) {
      tx.execute("INSERT INTO effect (what, n) VALUES ('a', 1)");
      begun = runner_->start_in(tx, registry_.latest("trip"), std::make_shared<Trip>(), {});
    });
    EXPECT_EQ(begun.status, SagaStatus::WAITING);
    return begun.id;
  }
  SagaStatus status(const std::string& id) { return view(id).status; }
};

TEST_P(GivenTest, ItWaitsWithItsStartersCommitAndNobodyHasToRunIt) {
  const std::string id = start_given(1h);
  EXPECT_EQ(status(id), SagaStatus::WAITING);
  EXPECT_EQ(view(id).step, "approval");
  EXPECT_GT(runner_->poll(), 1s) << "nothing is due";
  EXPECT_FALSE(runner_->run_one());
}

TEST_P(GivenTest, WhatWasGivenIsUndoneWhereTheSignalDoesNotCome) {
  const std::string id = start_given(2ms);
  settle(*runner_);
  EXPECT_EQ(status(id), SagaStatus::COMPENSATED);
  EXPECT_EQ(view(id).error->code, "TIMED_OUT");
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(GivenTest, ItEndsWithTheTransactionThatSignals) {
  const std::string id = start_given(1h);
  const auto signal = [&](Transaction& tx) { runner_->signal(tx, id, "approved", "{}", "s1"); };
  EXPECT_THROW(db().write("undone",
                          [&](Transaction& tx) {
                            signal(tx);
                            throw Refused("NO", "no");
                          }),
               Refused);
  EXPECT_EQ(status(id), SagaStatus::WAITING);
  db().write("other", [&](Transaction& tx) { runner_->signal(tx, id, "something else", "{}", "s0"); });
  settle(*runner_);
  EXPECT_EQ(status(id), SagaStatus::WAITING);
  db().write("done", signal);
  EXPECT_EQ(status(id), SagaStatus::COMPLETED);
  EXPECT_EQ(rows_in("skald_signal"), 0);
  EXPECT_THROW(db().write("again", signal), Conflict);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(GivenTest, ASignalThatComesWhileAWorkerHasItIsKept) {
  const std::string id = start_given(1h);
  db().write("claim", [&](Transaction& tx) { tx.execute("UPDATE skald_saga SET owner = 'w2' WHERE id = $1", id); });
  db().write("signal", [&](Transaction& tx) { runner_->signal(tx, id, "approved", "{}", "s1"); });
  EXPECT_EQ(status(id), SagaStatus::WAITING);
  EXPECT_EQ(rows_in("skald_signal"), 1);
  die("w2");
  settle(*runner_);
  EXPECT_EQ(status(id), SagaStatus::COMPLETED);
}

INSTANTIATE_TEST_SUITE_P(Databases, GivenTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(ConstructsTest, AChildsEndIsItsParentsStep) {
  const auto leg = Saga<Trip>("leg")
                       .local("fly",
                              [](Local& step, Trip& t) {
                                if (t.name == "bad") throw Refused("STORM", "no flights");
                                count(step, "leg");
                                t.ticket = "L";
                              })
                       .undo(removes("leg"));
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .child<Trip>(
                            "leg", leg, [](const Trip& t) { return t; },
                            [](Local&, Trip& t, const Trip& ended) { t.ticket = ended.ticket; })
                        .nothing_to_undo();
  know(leg);
  know(trip);
  const Started done = run(trip, {.name = "good"});
  EXPECT_EQ(view(done.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(from_json<Trip>(view(done.id).state.text).ticket, "L");
  const Started failed = run(trip, {.name = "bad"});
  EXPECT_EQ(view(failed.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(failed.id).error->code, "STORM");
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(ConstructsTest, AParentWaitsForItsChildsEndBeyondItsDeadline) {
  const auto leg = Saga<Trip>("leg")
                       .await("pay", "paid", [](Local&, Trip&, const RawJson&) {})
                       .timeout(1h)
                       .local("fly", adds("leg"))
                       .nothing_to_undo();
  const auto trip = Saga<Trip>("trip")
                        .child<Trip>(
                            "leg", leg, [](const Trip& t) { return t; }, [](Local&, Trip&, const Trip&) {})
                        .undo(removes("leg"))
                        .commit()
                        .local("a", adds("a"))
                        .nothing_to_undo()
                        .deadline(1us);
  know(leg);
  know(trip);
  const Started begun = run(trip);
  const std::string child = begun.id + ".0";
  EXPECT_THROW(db().write("undo", [&](Transaction& tx) { runner_->compensate(tx, begun.id, "why"); }), Conflict);
  // Disturbed, it looks after its child and waits on.
  db().write("wake", [&](Transaction& tx) { tables::saga::wake(tx, std::span(&begun.id, 1)); });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  EXPECT_EQ(view(begun.id).status, SagaStatus::WAITING);
  db().write("pay", [&](Transaction& tx) { runner_->signal(tx, child, "paid", "{}", "s"); });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  EXPECT_EQ(view(child).status, SagaStatus::COMPLETED);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id).error->code, "DEADLINE");
  EXPECT_EQ(effects("leg"), 0) << "what the child did is undone";
  EXPECT_EQ(effects("a"), 0);
}

TEST_P(ConstructsTest, BehindThePivotAChildThatWasUndoneIsFollowedByAnother) {
  int storms = 2;
  const auto leg = Saga<Trip>("leg")
                       .local("fly", adds("leg"))
                       .undo(removes("leg"))
                       .commit()
                       .local("land",
                              [&](Local&, Trip&) {
                                if (storms-- > 0) throw Refused("STORM", "no flights today");
                              })
                       .nothing_to_undo();
  const auto trip = Saga<Trip>("trip")
                        .local("pay", adds("pay"))
                        .pivot()
                        .child<Trip>(
                            "leg", leg, [](const Trip& t) { return t; }, [](Local&, Trip&, const Trip&) {})
                        .retry(3, 1ms);
  know(leg);
  know(trip);
  const Started begun = run(trip);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(view(begun.id + ".1").status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id + ".1-2").status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id + ".1-3").status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("leg"), 1);
}

TEST_P(ConstructsTest, AChildThatIsUndoneToReadAgainIsFollowedByAnother) {
  int stale = 1;
  const auto leg = Saga<Trip>("leg").local("fly", adds("leg")).nothing_to_undo();
  const auto trip = Saga<Trip>("trip")
                        .local("read", adds("read"))
                        .undo(removes("read"))
                        .child<Trip>(
                            "leg", leg, [](const Trip& t) { return t; }, [](Local&, Trip&, const Trip&) {})
                        .undo(removes("leg"))
                        .local("write",
                               [&](Local&, Trip&) {
                                 if (stale-- > 0) throw Stale("CHANGED", "somebody was faster");
                               })
                        .rereads("read")
                        .retry(3, 1ms)
                        .nothing_to_undo();
  know(leg);
  know(trip);
  const Started begun = run(trip);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("leg"), 1);
  EXPECT_EQ(view(begun.id + ".1-2").status, SagaStatus::COMPLETED);
}

TEST_P(ConstructsTest, AnUndoIsToldWhyItsSagaIsUndone) {
  std::vector<std::string> told;
  const auto hear = [&](const StepContext& context) {
    told.push_back(context.step + ": " +
                   (context.failure ? context.failure->code + " " + context.failure->message : ""));
  };
  const auto trip = Saga<Trip>("trip")
                        .local("a", [&](Local& step, Trip&) { EXPECT_FALSE(step.context().failure); })
                        .undo([&](Local& step, Trip&) { hear(step.context()); })
                        .remote("b", [&](Remote& call, Trip&) { EXPECT_FALSE(call.context().failure); })
                        .undo([&](Remote& call, Trip&) { hear(call.context()); })
                        .local("c", refuses("SOLD_OUT"))
                        .nothing_to_undo();
  know(trip);
  const Started begun = run(trip);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(told, (std::vector<std::string>{"b: SOLD_OUT the business says no", "a: SOLD_OUT the business says no"}));
}

}  // namespace
}  // namespace skald::saga
