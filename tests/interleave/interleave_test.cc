// Every scenario in a bounded number of orders, and every planted bug.
#include <gtest/gtest.h>

#include "interleave/explorer.h"
#include "interleave/planted_bugs.h"

namespace skald::test {
namespace {

constexpr int kSchedulesMax = 60;
constexpr int kSchedulesMaxPlanted = 1000;

Stage& stage() {
  static Stage one;
  return one;
}

std::string test_name(std::string text) {
  for (char& c : text)
    if (c == '-') c = '_';
  return text;
}

class EveryOrder : public testing::TestWithParam<Scenario> {};

TEST_P(EveryOrder, KeepsWhatMustHold) {
  const Exploration exploration = explore(stage(), GetParam(), kSchedulesMax);
  if (exploration.finding) FAIL() << report(GetParam(), *exploration.finding);
  EXPECT_EQ(exploration.diverged, 0) << "a schedule must decide everything";
  EXPECT_GT(exploration.schedules, 1);
}

INSTANTIATE_TEST_SUITE_P(Interleave, EveryOrder, testing::ValuesIn(scenarios()),
                         [](const auto& each) { return test_name(each.param.name); });

class PlantedBugs : public testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugs, AreCaught) {
  const auto caught = catch_bug(stage(), GetParam(), kSchedulesMaxPlanted);
  ASSERT_TRUE(caught) << GetParam().bug;
  EXPECT_FALSE(caught->what.empty());
}

INSTANTIATE_TEST_SUITE_P(Interleave, PlantedBugs, testing::ValuesIn(planted_bugs()),
                         [](const auto& each) { return test_name(each.param.rule_name); });

TEST(Schedule, IsReadBackFromItsText) {
  const Schedule schedule = {{0, false}, {1, false}, {0, true}};
  EXPECT_EQ(to_text(schedule), "0,1,s0");
  EXPECT_EQ(parse_schedule(to_text(schedule)), schedule);
  EXPECT_TRUE(parse_schedule("").empty());
  for (const char* bad : {"x", "0,", "1,,2", "s", "-1", "0 1"}) EXPECT_THROW(parse_schedule(bad), Invalid) << bad;
}

TEST(Schedule, DecidesTheWholeRun) {
  const Scenario scenario = scenarios().front();
  const Schedule schedule = parse_schedule("0,1,1,0,1,0,1,1");
  const Replay first = replay(stage(), scenario, schedule), second = replay(stage(), scenario, schedule);
  EXPECT_FALSE(first.performance.diverged);
  EXPECT_EQ(first.performance.trace, second.performance.trace);
  EXPECT_GT(first.performance.trace.size(), schedule.size());
}

TEST(Conductor, ExploresEveryOrderOfWhatCannotBlockOnce) {
  const Scenario three{"three", "", 2, {}, [](Stage& on) {
                         struct Reads final : Play {
                           explicit Reads(Stage& s) : stage(s) {}
                           void run(int session) override {
                             stage.db(session).write(
                                 "reads", [](Transaction& tx) { tx.query("SELECT 1"), tx.query("SELECT 2"); });
                           }
                           std::string verdict() override { return {}; }
                           Stage& stage;
                         };
                         return std::make_unique<Reads>(on);
                       }};
  const Exploration exploration = explore(stage(), three, 1000);
  EXPECT_TRUE(exploration.complete);
  EXPECT_EQ(exploration.schedules, 20) << "three round trips each: 6! / (3! 3!)";
}

TEST(Conductor, SaysThatASessionThrew) {
  const std::function<void()> body = [] { throw std::runtime_error("no"); };
  const Performance performance = stage().conductor().perform(std::span(&body, 1), {}, {});
  ASSERT_EQ(performance.problems.size(), 1u);
  EXPECT_EQ(performance.problems[0], "session 0 threw: no");
}

}  // namespace
}  // namespace skald::test
