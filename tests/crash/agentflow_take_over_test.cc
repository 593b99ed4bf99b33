// Two agentflow processes on one PostgreSQL and one data folder: what one was about is ended by the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "crash/agentflow_telling.h"

namespace skald::crash {
namespace {

using agentflow::WorkflowStatus;
using std::chrono::steady_clock;

constexpr int kWorkflows = 4;
constexpr std::int64_t kLeaseMs = 3000, kBeatMs = 1000;  // as the program has them

class AgentflowTakeOver : public testing::Test {
 protected:
  // Each has an agent that waits for the gate.
  void start_workflows() {
    telling_.begin();
    workflows_.clear();
    const std::string waits = "while [ ! -e " + telling_.gate() + " ]; do sleep 0.02; done";
    for (int i = 0; i < kWorkflows; ++i) {
      telling_.create({{waits, "true"}, {"true"}}, "-" + std::to_string(i));
      telling_.act("start");
      workflows_.push_back(telling_.workflow());
    }
    telling_.wait_for("all agents",
                      [&] { return std::ranges::count(telling_.log(), "end") == 0 && begun() == kWorkflows; });
  }
  std::ptrdiff_t begun() const {
    return std::ranges::count_if(telling_.log(), [](const std::string& line) { return line.starts_with("begin "); });
  }
  void open_gate() { write_text(telling_.gate(), "open\n"); }

  void expect_all_ended_once() {
    const auto since = steady_clock::now();
    for (const std::string& workflow : workflows_) {
      telling_.turn_to(workflow);
      telling_.becomes(WorkflowStatus::COMPLETED);
    }
    const double took = std::chrono::duration<double>(steady_clock::now() - since).count();
    std::printf("taken over and finished after %.1f s\n", took);
    EXPECT_LT(took, 10) << "the lease is three seconds";
    telling_.settle();
    telling_.expect_sound();
    for (const std::string& workflow : workflows_) {
      telling_.turn_to(workflow);
      telling_.expect_begun("1 1 1");
      for (const auto& work : telling_.works())
        for (const auto& task : work.tasks) telling_.expect(task.attempt == 1, "tried again: " + to_json(task));
      telling_.remove();
    }
    telling_.settle();
    telling_.expect_nothing_left();
    for (const std::string& fault : telling_.faults()) ADD_FAILURE() << fault;
  }

  FlowTelling telling_{Dialect::postgres, kLeaseMs, kBeatMs};
  std::vector<std::string> workflows_;
};

TEST_F(AgentflowTakeOver, AgentsOfAKilledServerAreEndedByTheOtherAndCountedOnce) {
  auto other = telling_.scene().start({}, 1);
  start_workflows();
  telling_.hand_over(std::move(other));
  open_gate();
  expect_all_ended_once();
}

TEST_F(AgentflowTakeOver, TheOtherWayRoundTooAndWhileAgentsEnd) {
  auto other = telling_.scene().start({}, 1);
  telling_.hand_over(std::move(other));
  other = telling_.scene().start({}, 0);
  start_workflows();
  open_gate();
  telling_.hand_over(std::move(other));
  expect_all_ended_once();
}

}  // namespace
}  // namespace skald::crash
