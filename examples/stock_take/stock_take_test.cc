// An order and a stock-take at once: without the lock one of them loses the other's work.
#include "stock_take.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../first_saga/place_order.h"
#include "skald/analyser.h"
#include "skald/sim.h"

namespace {

skald::Saga<PlaceOrder> order() {
  return place_order([](const std::string&, std::int64_t) {});
}

skald::sim::Report explore_together(bool alone) {
  return skald::sim::explore(skald::sim::Scenario{
      .setup = create_shop,
      .check =
          [](skald::sim::Look& look) {
            const bool counted = look.number(
                                     "SELECT COUNT(*) FROM skald_saga WHERE type = 'shop.stock_take' "
                                     "AND status = 'COMPLETED'") > 0;
            look.require(look.number("SELECT free + reserved + sold FROM shelf") == (counted ? 11 : 10),
                         "ten lamps, and one more where it was found");
          },
      .starts = {skald::sim::start(stock_take(alone), StockTake{.sku = "lamp", .found = 1}),
                 skald::sim::start(order(), PlaceOrder{"lamp", 2})},
      .seeds = 200});
}

TEST(StockTake, LosesAnOrderThatComesInBetween) {
  const auto report = explore_together(false);
  ASSERT_FALSE(report.ok()) << report.runs << " runs";
  EXPECT_EQ(report.failures.front().schedule, "nothing went wrong around it");
}

TEST(StockTake, LosesNothingWhereItHoldsTheProductAlone) {
  const auto report = explore_together(true);
  EXPECT_TRUE(report.ok()) << report;
}

TEST(StockTake, IsWarnedOfByTheAnalyserBeforeItEverRuns) {
  const auto analyse = [](bool alone) {
    const auto count = stock_take(alone);
    const auto buy = order();
    return skald::analyser::analyse({count.definition(), buy.definition()});
  };
  EXPECT_EQ(analyse(false).worst(), 1);
  EXPECT_THAT(skald::analyser::report_text(analyse(false)), testing::HasSubstr("lost"));
  EXPECT_EQ(analyse(true).worst(), 0) << skald::analyser::report_text(analyse(true));
}

}  // namespace
