#include "agentflow/shared_reading.h"

#include <gtest/gtest.h>

#include "support/hand_clock.h"

namespace agentflow {
namespace {

class SharedReadingTest : public testing::Test {
 protected:
  std::shared_ptr<SharedReading<int>> of(const std::string& key) {
    return readings_.of(key, [this](const int*) {
      if (fails_) throw skald::Unavailable("AWAY", "it is away");
      return ++reads_;
    });
  }

  skald::test::HandClock clock_;
  SharedReadings<int> readings_{clock_};
  int reads_ = 0;
  bool fails_ = false;
};

TEST_F(SharedReadingTest, ManyLookAndOneReadsUntilItHasChangedOrIsOld) {
  std::vector<std::shared_ptr<SharedReading<int>>> watchers;
  for (int i = 0; i < 1'000; ++i) watchers.push_back(of("one"));
  const auto all_see = [&](int value) {
    for (const auto& one : watchers) EXPECT_EQ(*one->get(), value);
  };
  all_see(1);
  readings_.changed("one");
  all_see(2);
  readings_.changed("another");
  all_see(2);
  clock_.advance(kReadingOld);
  all_see(3);
}

TEST_F(SharedReadingTest, AReadingThatFailedIsReadAgain) {
  const auto reading = of("one");
  EXPECT_EQ(*reading->get(), 1);
  fails_ = true;
  readings_.changed("one");
  EXPECT_THROW(reading->get(), skald::Unavailable);
  fails_ = false;
  EXPECT_EQ(*reading->get(), 2);
}

TEST_F(SharedReadingTest, WhatNobodyHoldsIsForgotten) {
  of("one")->get();
  EXPECT_EQ(*of("one")->get(), 2);
}

}  // namespace
}  // namespace agentflow
