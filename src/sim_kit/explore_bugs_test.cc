// Sagas with the bugs that people write: the explorer finds each.
#include "sim_kit/explore_fixture.h"

namespace skald::sim {
namespace {

using testing::HasSubstr;

class ExploreBugsTest : public ExploreTest {
 protected:
  template <class State>
  Failure first_failure(const Saga<State>& saga, Scenario scene) {
    scene.failures_max = 1;
    const Report report = explore(saga, State{}, std::move(scene));
    if (report.ok()) {
      ADD_FAILURE() << "nothing was found in " << report.runs << " runs";
      return {};
    }
    return report.failures.front();
  }
};

TEST_F(ExploreBugsTest, ACallThatIgnoresItsIdempotencyKey) {
  int charges = 0;
  const auto saga = Saga<Order>("shop.order").remote("charge", [&](Remote&, Order&) { ++charges; }).pivot();
  const Failure found =
      first_failure(saga, {.setup = [&](Database&) { charges = 0; },
                           .check = [&](Look& look) { look.require(charges <= 1, "charged at most once"); }});
  EXPECT_EQ(found.violations, std::vector<std::string>{"charged at most once"});
  EXPECT_THAT(found.schedule, HasSubstr("crash before the commit that would have stored step 'charge'"));
}

TEST_F(ExploreBugsTest, AStepWithAnEffectBesideItsTransaction) {
  int mails = 0;
  const auto saga = Saga<Order>("shop.order").local("mail", [&](Local&, Order&) { ++mails; }).nothing_to_undo();
  const Failure found = first_failure(saga, {.setup = [&](Database&) { mails = 0; },
                                             .check = [&](Look& look) { look.require(mails == 1, "one mail"); }});
  EXPECT_EQ(found.violations, std::vector<std::string>{"one mail"});
}

TEST_F(ExploreBugsTest, AStepThatHasSomethingToUndoAfterAll) {
  const auto saga = Saga<Order>("shop.order")
                        .local("reserve", reserve)
                        .nothing_to_undo()
                        .remote("charge", [](Remote&, Order&) {})
                        .pivot()
                        .local("sell", sell);
  Scenario scene = scenario();
  scene.check = [](Look& look) { look.require(look.number("SELECT reserved FROM shelf") == 0, "nothing reserved"); };
  EXPECT_EQ(first_failure(saga, scene).schedule, "step 'charge' was refused");
}

TEST_F(ExploreBugsTest, ALateCallThatItsCancelDoesNotKeepOut) {
  const auto saga = [this](bool remembers) {
    return Saga<Order>("shop.order")
        .remote("charge", [this](Remote& call, Order& order) { bank.charge(call.saga_id(), order.quantity); })
        .undo([this, remembers](Remote& call, Order&) {
          bank.cancel(call.saga_id());
          if (!remembers) bank.cancelled.clear();
        })
        .local("reserve", reserve)
        .undo(put_back)
        .deadline(60s);
  };
  Scenario scene = scenario();
  scene.always = {};
  scene.check = [this](Look& look) {
    look.require(bank.charges.size() == (look.completed() ? 1u : 0u), "charged once, or not at all");
  };
  const Report right = explore(saga(true), Order{}, scene);
  EXPECT_TRUE(right.ok()) << right;
  EXPECT_THAT(first_failure(saga(false), scene).schedule, HasSubstr("overtaken: the deadline passed"));
}

TEST_F(ExploreBugsTest, AnUndoThatNeverWorks) {
  const auto saga = Saga<Order>("shop.order")
                        .local("reserve", reserve)
                        .undo([](Local&, Order&) { throw std::logic_error("no such thing"); })
                        .local("sell", sell)
                        .undo([](Local&, Order&) {});
  Scenario scene = scenario();
  scene.check = scene.always = {};
  const Failure found = first_failure(saga, scene);
  EXPECT_EQ(found.schedule, "step 'sell' was refused");
  EXPECT_THAT(found.violations.at(0), HasSubstr("needs help at 'reserve': STEP_FAILED, no such thing"));
}

TEST_F(ExploreBugsTest, AStateThatOthersMustNotSee) {
  const auto saga = Saga<Order>("shop.order")
                        .local("take", [](Local& step, Order&) { step->execute("UPDATE shelf SET free = free - 2"); })
                        .undo([](Local& step, Order&) { step->execute("UPDATE shelf SET free = free + 2"); })
                        .commit()
                        .local("give", [](Local& step, Order&) { step->execute("UPDATE shelf SET sold = sold + 2"); })
                        .undo([](Local& step, Order&) { step->execute("UPDATE shelf SET sold = sold - 2"); });
  Scenario scene = scenario();
  scene.check = {};
  EXPECT_EQ(first_failure(saga, scene).violations, std::vector<std::string>{"nothing is lost"});
}

// Reads, goes away, and writes what it computed from what it had read.
Saga<Order> counting_saga(bool locked) {
  Saga<Order> saga("shop.count");
  saga.local("read", [](Local& step,
                        Order& order) { order.seen = step->query("SELECT free FROM shelf").get<std::int64_t>(0, 0); })
      .nothing_to_undo();
  if (locked) saga.holds("shelf", &Order::sku, exclusive, wait_up_to(60s));
  return saga.commit()
      .sleep("count", 1s)
      .local("write", [](Local& step, Order& order) { step->execute("UPDATE shelf SET free = $1", order.seen); })
      .pivot();
}

// Changes the shelf by amounts, and holds it shared where `locked`.
Saga<Order> selling_saga(bool locked) {
  Saga<Order> saga("shop.order");
  saga.local("reserve", reserve).undo(put_back);
  if (locked) saga.holds("shelf", &Order::sku, shared, wait_up_to(60s));
  return saga.local("sell", sell).pivot();
}

TEST_F(ExploreBugsTest, TwoSagasOfWhichOneLosesTheOthersUpdate) {
  Scenario scene = scenario();
  scene.check = {};
  scene.starts = {start(counting_saga(false), Order{}), start(selling_saga(false), Order{})};
  const Report open = explore(scene);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.failures[0].violations, std::vector<std::string>{"nothing is lost"});
  scene.starts = {start(counting_saga(true), Order{}), start(selling_saga(true), Order{})};
  scene.seeds = 200;
  const Report covered = explore(scene);
  EXPECT_TRUE(covered.ok()) << covered;
}

}  // namespace
}  // namespace skald::sim
