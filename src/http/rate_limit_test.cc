#include "http/rate_limit.h"

#include <gtest/gtest.h>

namespace skald::http {
namespace {

const Instant kStart = Instant(Duration(1'000'000'000));

TEST(RateLimit, ASecondsWorthMayComeAtOnceAndThenOneAtATime) {
  RateLimit limit(10);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(limit.take("kim", kStart)) << i;
  EXPECT_EQ(limit.take("kim", kStart), Duration(100ms));
  EXPECT_FALSE(limit.take("lee", kStart)) << "each has its own";
  EXPECT_EQ(limit.take("kim", kStart + 99ms), Duration(1ms));
  EXPECT_FALSE(limit.take("kim", kStart + 100ms));
  EXPECT_TRUE(limit.take("kim", kStart + 100ms));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(limit.take("kim", kStart + 5s)) << "no more than a second's worth";
  EXPECT_TRUE(limit.take("kim", kStart + 5s));
}

TEST(RateLimit, ZeroIsNoLimit) {
  RateLimit limit(0);
  for (int i = 0; i < 100'000; ++i) EXPECT_FALSE(limit.take("kim", kStart));
}

TEST(RateLimit, ManyNamesDoNotLetTheOldOnesStartAnew) {
  RateLimit limit(1);
  EXPECT_FALSE(limit.take("kim", kStart));
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) refused += limit.take("n" + std::to_string(i), kStart).has_value();
  EXPECT_GT(refused, 9'000) << "they share one place";
  EXPECT_TRUE(limit.take("kim", kStart));
  EXPECT_FALSE(limit.take("newcomer", kStart + 2s)) << "and are forgotten when they are quiet";
}

TEST(LogGate, OneLineASecondSaysHowManyWereKeptBack) {
  LogGate gate;
  EXPECT_EQ(gate.pass(kStart), 0);
  EXPECT_FALSE(gate.pass(kStart + 1ms));
  EXPECT_FALSE(gate.pass(kStart + 999ms));
  EXPECT_EQ(gate.pass(kStart + 1s), 2);
  EXPECT_EQ(gate.pass(kStart + 3s), 0);
}

}  // namespace
}  // namespace skald::http
