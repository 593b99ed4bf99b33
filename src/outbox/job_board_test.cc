// When timers run again. That a job runs once across workers is shown by tests/interleave.
#include "outbox/job_board.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "store/tables/schema.h"
#include "support/hand_clock.h"
#include "support/test_database.h"

namespace skald::outbox {
namespace {

class JobBoardTest : public testing::Test {
 protected:
  JobBoardTest() {
    db().migrate(tables::kComponent, tables::migrations());
    board_.add(timer());
  }

  Database& db() { return **database_; }
  Job timer() {
    return {.name = "timer",
            .every = 60s,
            .run =
                [this] {
                  ++runs_;
                  if (fails_) throw std::runtime_error("not now");
                },
            .again_in = [this] { return again_in_; }};
  }
  // As the thread of a worker does.
  void live(JobBoard& board, Duration time) {
    const Instant until = clock_.steady() + time;
    for (;;) {
      const Duration idle = board.run_once();
      if (clock_.steady() + idle > until) break;
      clock_.advance(idle);
    }
    clock_.advance(until - clock_.steady());
  }

  test::HandClock clock_;
  std::unique_ptr<Random> random_ = system_random();
  Env env_{clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::sqlite(env_);
  JobBoard board_{env_, db()};
  int runs_ = 0;
  bool fails_ = false;
  Duration again_in_ = 60s;
};

TEST_F(JobBoardTest, ATimerRunsAgainWhenItSays) {
  again_in_ = 7s;
  EXPECT_EQ(board_.run_once(), 7s);
  EXPECT_EQ(runs_, 1);
  clock_.advance(6999ms);
  board_.run_once();
  EXPECT_EQ(runs_, 1);
  clock_.advance(1ms);
  again_in_ = 10min;
  EXPECT_EQ(board_.run_once(), 60s) << "the longest that it may sleep";
  EXPECT_EQ(runs_, 2);
}

TEST_F(JobBoardTest, ATimerThatIsLateRunsAtOnce) {
  again_in_ = -3s;
  EXPECT_EQ(board_.run_once(), 0s);
  board_.run_once();
  EXPECT_EQ(runs_, 2);
}

TEST_F(JobBoardTest, APeriodThatIsMadeShorterCountsAtOnce) {
  board_.run_once();
  Job shorter = timer();
  shorter.every = again_in_ = 2s;
  JobBoard restarted(env_, db());
  restarted.add(shorter);
  EXPECT_EQ(restarted.run_once(), 2s);
  EXPECT_EQ(runs_, 2);
}

TEST_F(JobBoardTest, ATimerThatFailsIsTriedAgainWithinSeconds) {
  fails_ = true;
  live(board_, 21s);
  EXPECT_EQ(runs_, 5);
}

TEST_F(JobBoardTest, AnotherWorkerRunsTheTimerOfOneThatDied) {
  JobBoard other(env_, db());
  other.add(timer());
  board_.run_once();
  live(other, 59s);
  EXPECT_EQ(runs_, 1) << "it is not due yet";
  clock_.advance(1s);
  again_in_ = 7s;
  board_.run_once();  // and is never called again
  EXPECT_EQ(runs_, 2);
  live(other, 6999ms);
  EXPECT_EQ(runs_, 2);
  live(other, 1ms);
  EXPECT_EQ(other.run_once(), 7s);
  EXPECT_EQ(runs_, 3);
}

}  // namespace
}  // namespace skald::outbox
