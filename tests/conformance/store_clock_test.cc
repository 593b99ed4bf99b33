// Database time, where it is made of the machine's own clocks: on SQLite.
#include <map>

#include "store_suite.h"
#include "support/hand_clock.h"

namespace skald::test {
namespace {

constexpr Duration kYears = std::chrono::days(730);

struct ClockObserver final : Observer {
  void count(std::string_view metric, std::int64_t by) override { counted[std::string(metric)] += by; }
  void log(Level, std::string_view message, std::string_view) override { lines.emplace_back(message); }
  std::map<std::string, std::int64_t> counted;
  std::vector<std::string> lines;
};

class StoreClockTest : public ::testing::Test {
 protected:
  Time written() {
    return (*database_)->write_result("time", [](Transaction& tx) { return tx.now(); });
  }
  Time read() {
    return (*database_)->read_result([](Transaction& tx) { return tx.now(); });
  }

  HandClock clock_;
  std::unique_ptr<Random> random_ = system_random();
  ClockObserver observer_;
  std::unique_ptr<TestDatabase> database_ = TestDatabase::sqlite({clock_, *random_, observer_});
};

TEST_F(StoreClockTest, DoesNotFollowAJumpAndGoesOnWhenTheClockIsRightAgain) {
  const Time before = written();
  clock_.jump(kYears);
  clock_.advance(400ms);
  EXPECT_EQ(written(), before + 400ms);
  EXPECT_EQ(read(), before + 400ms);
  EXPECT_EQ(observer_.counted["store_clock_jumps_total"], 1);
  ASSERT_EQ(observer_.lines.size(), 1u) << "said once";
  clock_.jump(-kYears);
  clock_.advance(1s);
  EXPECT_EQ(read(), clock_.now());
  EXPECT_EQ(written(), clock_.now());
  EXPECT_EQ(observer_.lines.size(), 2u) << "and when it is over";
}

TEST_F(StoreClockTest, DoesNotFollowAJumpThatLastsUntilItIsOpenedAgain) {
  const Time before = written();
  clock_.jump(61s);
  for (int i = 1; i <= 3; ++i) {
    clock_.advance(1h);
    EXPECT_EQ(written(), before + i * 1h);
  }
  EXPECT_EQ(clock_.now() - read(), 61s) << "what doctor shows";
  database_->reopen();
  EXPECT_EQ(written(), clock_.now());
}

TEST_F(StoreClockTest, FollowsACorrectionOfUpToAMinute) {
  written();
  clock_.jump(60s);
  EXPECT_EQ(written(), clock_.now());
  EXPECT_TRUE(observer_.lines.empty());
}

TEST_F(StoreClockTest, GoesOnWhereTheClockIsPutBack) {
  const Time before = written();
  clock_.jump(-kYears);
  clock_.advance(5s);
  EXPECT_EQ(read(), before + 5s);
  EXPECT_EQ(written(), before + 5s);
  EXPECT_EQ(observer_.counted["store_clock_jumps_total"], 1);
}

TEST_F(StoreClockTest, CountsTheTimeInWhichNobodyLooked) {
  const Time before = written();
  clock_.advance(std::chrono::days(3));
  EXPECT_EQ(written(), before + std::chrono::days(3));
  EXPECT_TRUE(observer_.lines.empty());
}

}  // namespace
}  // namespace skald::test
