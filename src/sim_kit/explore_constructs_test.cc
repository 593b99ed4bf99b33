// Waits, signals, children, elements and branches under the explorer.
#include "sim_kit/explore_fixture.h"

namespace skald::sim {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Trip {
  std::vector<std::string> legs = {"a", "b"};
  std::string note;
  Order order;
};
BOOST_DESCRIBE_STRUCT(Trip, (), (legs, note, order))

class ExploreConstructsTest : public ExploreTest {
 protected:
  Scenario balanced() {
    Scenario scene = scenario();
    scene.check = [this](Look& look) {
      look.require(look.completed() || bank.charges.empty(), "nothing is charged for nothing");
      look.require(look.number("SELECT reserved FROM shelf") == 0, "nothing stays reserved");
    };
    scene.seeds = 50;
    return scene;
  }
};

TEST_F(ExploreConstructsTest, ASignalIsSentToWhoWaitsForIt) {
  const auto saga = Saga<Trip>("trip").await(
      "approval", "approved", [](Local&, Trip& trip, const RawJson& payload) { trip.note = payload.text; });
  Scenario scene = balanced();
  scene.signals = {{"approved", R"({"by":"kim"})"}};
  int completed = 0;
  scene.check = [&](Look& look) { completed += look.completed(); };
  EXPECT_TRUE(explore(saga, Trip{}, scene).ok());
  EXPECT_GT(completed, 10);
}

TEST_F(ExploreConstructsTest, ASignalThatNobodySendsLetsTheWaitRunOut) {
  const auto saga = Saga<Trip>("trip").await("approval", "approved", [](Local&, Trip&, const RawJson&) {}).timeout(24h);
  Scenario scene = balanced();
  scene.check = [](Look& look) {
    look.require(look.sagas().at(0).error->code == "TIMED_OUT", "it ends because nobody approved");
  };
  const Report report = explore(saga, Trip{}, scene);
  EXPECT_TRUE(report.ok()) << report;
}

TEST_F(ExploreConstructsTest, WhatAnUndoFreesWakesWhoLacksIt) {
  Time freed_at{};
  const auto giver = Saga<Order>("shop.giver")
                         .local("reserve", reserve)
                         .undo([&](Local& step, Order& order) {
                           put_back(step, order);
                           step.freed("units", order.sku);
                           freed_at = step->now();
                         })
                         .sleep("think", 5250ms)  // between two looks of the one that waits
                         .local("decide", [](Local&, Order&) { throw Refused("NO", "not after all"); })
                         .nothing_to_undo();
  Time got_at{};
  const auto taker =
      Saga<Order>("shop.taker")
          .local(
              "take",
              [&](Local& step, Order& order) {
                if (step->execute("UPDATE shelf SET free = free - $2, sold = sold + $2 WHERE sku = $1 AND free >= $2",
                                  order.sku, order.quantity) == 0)
                  throw Busy("BUSY", "somebody else has them", std::nullopt, Shortage{"units", order.sku, 60s});
                got_at = step->now();
              })
          .nothing_to_undo();
  Scenario scene = scenario();
  const Order all{.sku = "lamp", .quantity = kShelf};
  scene.starts = {start(giver, all), start(taker, all)};
  std::vector<Duration> waits;
  scene.check = [&](Look& look) {
    if (look.sagas().back().status == SagaStatus::COMPLETED) waits.push_back(got_at - freed_at);
  };
  const Report report = explore(scene);
  EXPECT_TRUE(report.ok()) << report;
  ASSERT_GT(waits.size(), 20u);
  EXPECT_LT(waits.front(), 50ms) << "where nothing goes wrong it does not have to look by itself";
}

TEST_F(ExploreConstructsTest, AChildIsDisturbedLikeItsParent) {
  const auto child = order_saga();
  const auto saga = Saga<Trip>("trip")
                        .child<Order>(
                            "order", child, [](const Trip& trip) { return trip.order; },
                            [](Local&, Trip& trip, const Order&) { trip.note = "ordered"; })
                        .undo([this](Remote&, Trip&) {
                          while (!bank.charges.empty()) bank.cancel(std::string(bank.charges.begin()->first));
                        });
  Scenario scene = balanced();
  scene.also = {child.definition()};
  const Report report = explore(saga, Trip{}, scene);
  EXPECT_TRUE(report.ok()) << report;
  scene.failures_max = 10'000;
  int runs = 0;
  scene.check = [&](Look& look) { look.require(runs++ == 0, "never"); };
  std::vector<std::string> schedules;
  for (const Failure& failure : explore(saga, Trip{}, scene).failures) schedules.push_back(failure.schedule);
  EXPECT_THAT(schedules, Contains("step 'charge' of sim-1.0 was refused"));
}

TEST_F(ExploreConstructsTest, ElementsAndBranchesAreUndoneEachByItself) {
  const auto call = [this](Remote& step, Trip&) { bank.charge(step.idempotency_key(), 1); };
  const auto cancel = [this](Remote& step, Trip&) { bank.cancel(std::string(step.action_key())); };
  const auto saga = Saga<Trip>("trip")
                        .each("book", &Trip::legs, [call](Remote& step, Trip& trip, std::string&) { call(step, trip); })
                        .undo(&Trip::legs, [cancel](Remote& step, Trip& trip, std::string&) { cancel(step, trip); })
                        .all("both", {{"left", call, cancel}, {"right", call, cancel}})
                        .local("end", [](Local&, Trip&) {})
                        .nothing_to_undo()
                        .deadline(1h);
  const Report report = explore(saga, Trip{}, balanced());
  EXPECT_TRUE(report.ok()) << report;
}

TEST_F(ExploreConstructsTest, StepsMayEmitEvents) {
  const auto saga =
      Saga<Order>("shop.order")
          .local("tell",
                 [](Local& step, Order& order) {
                   step->emit({.type = "order.placed", .key = order.sku, .subject = "o", .payload = "{}"});
                 })
          .nothing_to_undo();
  Scenario scene = scenario();
  scene.check = [](Look& look) {
    look.require(look.number("SELECT COUNT(*) FROM skald_outbox") == (look.completed() ? 1 : 0), "told once");
  };
  const Report report = explore(saga, Order{}, scene);
  EXPECT_TRUE(report.ok()) << report;
}

TEST_F(ExploreConstructsTest, AClientOfABusyKeyJoinsOrIsRefused) {
  Scenario scene = scenario();
  scene.starts = {start(order_saga(), Order{}, {.key = "k"}),
                  start(order_saga(), Order{}, {.key = "k", .on_duplicate = OnDuplicate::refuse})};
  scene.seeds = 50;
  const Report report = explore(scene);
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace
}  // namespace skald::sim
