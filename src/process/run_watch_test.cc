// Runs::fd() and Runs::changed().
#include <gtest/gtest.h>

#include "process/runs_fixture.h"

namespace skald {
namespace {

class RunWatchTest : public RunsTest {
 protected:
  bool readable() const {
    pollfd ready{runs_->fd(), POLLIN, 0};
    return poll(&ready, 1, 0) == 1;
  }
  // Waits for the descriptor alone, as a server does.
  bool hears_of(const std::string& id, const std::function<bool(const RunView&)>& holds) {
    for (const Instant latest = clock_->steady() + 30s; clock_->steady() < latest;) {
      pollfd ready{runs_->fd(), POLLIN, 0};
      if (poll(&ready, 1, 30'000) != 1) return false;
      const std::vector<std::string> news = runs_->changed();
      if (std::find(news.begin(), news.end(), id) != news.end() && holds(*runs_->look(id))) return true;
    }
    return false;
  }
};

TEST_F(RunWatchTest, ARunThatAnotherProcessStartsIsToldWhenItBeginsAndEnds) {
  EXPECT_FALSE(readable());
  EXPECT_EQ(status_of(elsewhere([&] {
              Runs runs(*clock_, folder(), supervisor());
              runs.start(script("a", "read x < " + gate()));
            })),
            0);
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.pid > 0 && !view.end; }));
  open_gate();
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.end.has_value(); }));
}

TEST_F(RunWatchTest, WhatARunWritesMakesTheDescriptorReadable) {
  runs_->start(script("a", "read x < " + gate() + "; echo more; exec sleep 1000"));
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.pid > 0; }));
  runs_->changed();
  EXPECT_FALSE(readable());
  open_gate();
  EXPECT_TRUE(eventually([&] { return readable(); }));
  EXPECT_TRUE(runs_->changed().empty());
  EXPECT_EQ(output("a"), "more\n");
}

TEST_F(RunWatchTest, ASupervisorThatIsKilledIsHeardOf) {
  runs_->start(script("a", "exec sleep 1000"));
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.pid > 0; }));
  kill(supervisor_of("a"), SIGKILL);
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.end.has_value(); }));
  EXPECT_EQ(runs_->look("a")->end->outcome, RunOutcome::INTERRUPTED);
}

TEST_F(RunWatchTest, LookingAtRunsTellsNobodyOfThem) {
  runs_->start(script("a", "exec sleep 1000"));
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.pid > 0; }));
  runs_->changed();
  for (int i = 0; i < 10; ++i) {
    runs_->look("a");
    runs_->start(script("a", "again"));
    runs_->output("a", 0, 10);
    runs_->list();
  }
  EXPECT_FALSE(readable());
}

TEST_F(RunWatchTest, AFloodOfEventsLosesNoRun) {
  runs_->start(script("a", "read x < " + gate()));
  runs_->start(script("b", "exec sleep 1000"));
  EXPECT_TRUE(eventually([&] { return runs_->look("a")->pid > 0 && runs_->look("b")->pid > 0; }));
  runs_->changed();
  const int events_max = std::stoi(*process::read_small_file("/proc/sys/fs/inotify/max_queued_events"));
  for (int i = 0; i < events_max + 1000; ++i) {  // of two files in turn, or they are told as one
    std::filesystem::resize_file(path("b", i % 2 == 0 ? "lost" : "log"), static_cast<std::size_t>(i % 3));
  }
  open_gate();
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path("a", "end")); }));
  EXPECT_EQ(runs_->changed(), std::vector<std::string>{"a"});
}

TEST_F(RunWatchTest, ARunThatIsForgottenAndStartedAgainIsToldAgain) {
  runs_->start(script("a", "true"));
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.end.has_value(); }));
  runs_->forget("a");
  runs_->start(script("a", "exit 2"));
  EXPECT_TRUE(hears_of("a", [](const RunView& view) { return view.end && view.end->exit_code == 2; }));
}

}  // namespace
}  // namespace skald
