#include "backlog.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bench {
namespace {

constexpr double kPerSecond = 400;

TEST(Backlog, OneThatGoesUpAndDownDoesNotGrow) {
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back(i % 3 == 0 ? 120 : 20);
  const Backlog backlog = backlog_of(samples);
  EXPECT_LE(backlog.growth(), kPerSecond);
  EXPECT_EQ(backlog.most, 120);
}

TEST(Backlog, OneThatOnlyTenthOfTheLoadIsLeftInEachSecondGrows) {
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back(i * kPerSecond / 10);
  EXPECT_GT(backlog_of(samples).growth(), kPerSecond);
  EXPECT_DOUBLE_EQ(backlog_of(samples).growth(), 20 * kPerSecond / 10);
}

TEST(Backlog, APeakInTheMiddleThatIsWorkedOffIsNoGrowth) {
  std::vector<double> samples(30, 10);
  samples[15] = 5000;
  EXPECT_LE(backlog_of(samples).growth(), kPerSecond);
  EXPECT_EQ(backlog_of(samples).most, 5000);
}

TEST(Backlog, TooFewSamplesTellNothing) { EXPECT_TRUE(std::isnan(backlog_of(std::vector<double>{1, 2}).growth())); }

}  // namespace
}  // namespace bench
