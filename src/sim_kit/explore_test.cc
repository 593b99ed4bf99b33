// The explorer passes what is right, reaches every place, and names what it found.
#include <sstream>

#include "sim_kit/explore_fixture.h"

namespace skald::sim {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST_F(ExploreTest, ASagaThatIsRightPassesEveryRun) {
  Scenario everything = scenario();
  everything.seeds = 100;
  const Report report = explore(order_saga(), Order{}, everything);
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_GT(report.runs, 130);
}

TEST_F(ExploreTest, EveryCommitIsCrashedBeforeAndAfterAndEveryStepFails) {
  const auto schedules = schedules_of(order_saga());
  for (const char* expected : {
           "crash before the commit that would have stored the start, step 'reserve', the intent to call 'charge'",
           "crash after the commit that stored the start, step 'reserve', the intent to call 'charge'",
           "the commit that stored step 'charge', step 'sell', the end happened, and its answer was lost",
           "the commit that would have stored step 'charge', step 'sell', the end failed",
           "the transaction that stored step 'charge', step 'sell', the end ran twice",
           "step 'reserve' was busy",
           "step 'sell' was busy",
           "step 'sell' was refused",
           "step 'reserve' was refused",
           "step 'charge' was refused",
           "nobody answered the call of step 'charge'",
           "the call of step 'charge' was lost on the way there",
           "the call of step 'charge' happened, and its answer was lost",
           "the call of step 'charge' was made twice",
           "the call of step 'charge' was late: it was made again, and arrived after all else",
           "step 'charge' was refused; then crash after the commit that stored the refusal of 'charge', the undo of "
           "'reserve', the end",
           "step 'charge' was refused; then the undo of 'reserve' was busy",
           "step 'charge' was refused; then the undo of 'reserve' was refused",
       })
    EXPECT_THAT(schedules, Contains(expected));
}

TEST_F(ExploreTest, WhatFailsWithoutAnyFaultIsToldAlone) {
  Scenario wrong = scenario();
  wrong.check = [](Look& look) { look.require(false, "the moon is green"); };
  const Report report = explore(order_saga(), Order{}, wrong);
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.runs, 1);
  EXPECT_EQ(report.failures[0].token, "undisturbed");
  EXPECT_EQ(report.failures[0].violations, std::vector<std::string>{"the moon is green"});
}

TEST_F(ExploreTest, ATokenReplaysItsRunExactly) {
  Scenario wrong = scenario();
  wrong.failures_max = 10'000;
  wrong.seeds = 30;
  int runs = 0;
  wrong.check = [&](Look& look) { look.require(runs++ == 0, "never"); };
  const auto failures = explore(order_saga(), Order{}, wrong).failures;
  ASSERT_GT(failures.size(), 60u);
  for (const Failure& failure : failures) {
    wrong.only = failure.token;
    wrong.check = [](Look& look) { look.require(false, "never"); };
    const auto again = explore(order_saga(), Order{}, wrong).failures;
    ASSERT_EQ(again.size(), 1u) << failure.token;
    EXPECT_EQ(again[0].schedule, failure.schedule) << failure.token;
    EXPECT_EQ(again[0].story, failure.story) << failure.token;
  }
}

TEST_F(ExploreTest, ATokenThatNamesNoRunIsRefused) {
  for (const char* token : {"nonsense", "crash_after", "crash_after=x", "late=1+", "refuse=99", "crash_after=9999"}) {
    Scenario only = scenario();
    only.only = token;
    EXPECT_THROW(explore(order_saga(), Order{}, only), Invalid) << token;
  }
}

TEST_F(ExploreTest, AScenarioThatStartsNothingIsRefused) { EXPECT_THROW(explore(scenario()), Invalid); }

TEST_F(ExploreTest, AReportSaysWhatBrokeWhenAndHowToSeeItAgain) {
  Scenario wrong = scenario();
  int runs = 0;
  wrong.check = [&](Look& look) { look.require(runs++ == 0, "the moon is green"); };
  wrong.failures_max = 1;
  std::ostringstream text;
  text << explore(order_saga(), Order{}, wrong);
  EXPECT_THAT(text.str(), HasSubstr("1 of 2 runs went wrong; stopped there"));
  EXPECT_THAT(text.str(), HasSubstr("broken: the moon is green"));
  EXPECT_THAT(text.str(), HasSubstr("when:   crash before the commit that would have stored the start"));
  EXPECT_THAT(text.str(), HasSubstr("replay: .only = \"crash_before=1\""));
  EXPECT_THAT(text.str(), HasSubstr("worker-1 dies"));
}

TEST_F(ExploreTest, ACheckThatThrowsHasFailed) {
  Scenario wrong = scenario();
  wrong.check = [](Look& look) { look->query("SELECT * FROM no_such_table"); };
  EXPECT_FALSE(explore(order_saga(), Order{}, wrong).ok());
}

}  // namespace
}  // namespace skald::sim
