#include "booking/policy.h"

#include <gtest/gtest.h>

namespace booking {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

TEST(Policy, EachBoundaryBelongsToTheBetterSide) {
  constexpr std::int64_t last_day = 30;
  EXPECT_EQ(customer_refund_percent(days(30), last_day), 100);
  EXPECT_EQ(customer_refund_percent(days(7), last_day), 100);
  EXPECT_EQ(customer_refund_percent(days(7) - 1us, last_day), 80);
  EXPECT_EQ(customer_refund_percent(days(3), last_day), 80);
  EXPECT_EQ(customer_refund_percent(days(3) - 1us, last_day), 50);
  EXPECT_EQ(customer_refund_percent(24h, last_day), 50);
  EXPECT_EQ(customer_refund_percent(24h - 1us, last_day), last_day);
  EXPECT_EQ(customer_refund_percent(0us, 0), 0);
}

TEST(Policy, AShareIsAWholeNumberOfMinorUnits) {
  EXPECT_EQ(share_of(1000, 80), 800);
  EXPECT_EQ(share_of(1001, 50), 501);  // half a unit goes to the customer
  EXPECT_EQ(share_of(999, 30), 300);
  EXPECT_EQ(share_of(0, 100), 0);
  EXPECT_EQ(share_of(1'000'000'000'000, 100), 1'000'000'000'000);
}

}  // namespace
}  // namespace booking
