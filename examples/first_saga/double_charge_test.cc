// The same order with a bank that ignores the key: the explorer finds the second charge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place_order.h"
#include "skald/sim.h"

TEST(DoubleCharge, IsFoundAndNamed) {
  int charges = 0;
  const auto saga = place_order([&](const std::string&, std::int64_t) { ++charges; });
  skald::sim::Scenario scenario{
      .setup =
          [&](skald::Database& db) {
            charges = 0;
            create_shop(db);
          },
      .check = [&](skald::sim::Look& look) { look.require(charges <= 1, "the card is charged at most once"); }};
  const auto report = skald::sim::explore(saga, PlaceOrder{"lamp", 2}, scenario);
  ASSERT_FALSE(report.ok()) << report.runs << " runs";
  std::cout << report;
  const skald::sim::Failure& found = report.failures.front();
  EXPECT_THAT(found.violations, testing::ElementsAre("the card is charged at most once"));
  EXPECT_EQ(found.schedule, "crash before the commit that would have stored step 'charge', step 'sell', the end");

  scenario.only = found.token;
  EXPECT_EQ(skald::sim::explore(saga, PlaceOrder{"lamp", 2}, scenario).failures.front().story, found.story);
}
