// kill -9 of an agentflow process at every commit and every effect of git and agents, before it, during it and after it:
// the next process ends the story as if nothing had been.
//
// All of them: run the program. `./test` sets SKALD_CRASH_PARTS and runs a few of each story, others after each commit.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "crash/agentflow_stories.h"

namespace skald::crash {
namespace {

struct FlowCrashCase {
  Dialect dialect;
  std::size_t story;
};

std::string flow_crash_name(const testing::TestParamInfo<FlowCrashCase>& info) {
  return flow_stories()[info.param.story].name + (info.param.dialect == Dialect::sqlite ? "OnSQLite" : "OnPostgreSQL");
}

std::vector<FlowCrashCase> flow_crash_cases() {
  std::vector<FlowCrashCase> out;
  for (const Dialect dialect : {Dialect::sqlite, Dialect::postgres})
    for (std::size_t story = 0; story < flow_stories().size(); ++story) out.push_back({dialect, story});
  return out;
}

std::string doom_text(const Doom& doom) {
  return std::string(enum_name(doom.moment)) + " '" + doom.at.write + "' " + std::to_string(doom.at.nth) +
         (doom.moment == Moment::during ? " for " + std::to_string(doom.delay_us) + " us" : "");
}

bool is_effect(const Commit& commit) { return commit.write.starts_with("git ") || commit.write.starts_with("agent "); }

// A number of the environment; `otherwise` where it is not set.
std::size_t number_of(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

class AgentflowCrash : public testing::TestWithParam<FlowCrashCase> {
 protected:
  const FlowStory& story() const { return flow_stories()[GetParam().story]; }

  // Returns whether it died where it was told to; what is found done and committed is in `met`.
  bool tell(FlowTelling& telling, const Doom& doom, std::vector<Commit>* met = nullptr) {
    const std::size_t faults = telling.faults().size();
    try {
      telling.begin();
      story().prepare(telling);
      telling.doomed(doom);
      story().tell(telling);
      if (met != nullptr) *met = telling.commits();
      telling.saved();
      story().check(telling);
      end(telling);
    } catch (const std::exception& error) {
      throw std::runtime_error(doom_text(doom) + ": " + error.what());
    }
    for (std::size_t i = faults; i < telling.faults().size(); ++i)
      ADD_FAILURE() << doom_text(doom) << ": " << telling.faults()[i];
    return telling.has_died();
  }

  std::vector<Doom> dooms() {
    FlowTelling telling(GetParam().dialect);
    std::vector<Commit> met;
    tell(telling, {}, &met);
    std::vector<Doom> out;
    for (const Commit& commit : met) {
      out.push_back({Moment::before, commit});
      if (is_effect(commit))
        for (const int delay : {1'000, 4'000, 12'000}) out.push_back({Moment::during, commit, delay});
      out.push_back({Moment::after, commit});
    }
    return out;
  }

 private:
  static void end(FlowTelling& telling) {
    if (json::parse(telling.get("/agentflow/workflows?limit=1")).at("items").as_array().empty()) {
      telling.expect_nothing_left();
      return;
    }
    telling.expect_sound();
    telling.remove();
    telling.settle();
    telling.expect_nothing_left();
  }
};

TEST_P(AgentflowCrash, AnywhereIsSurvivedWithNothingLostAndNothingDoneTwice) {
  const std::vector<Doom> all = dooms();
  const std::size_t parts = number_of("SKALD_CRASH_PARTS", 1), stride = parts > 1 ? 24 : 1;
  std::atomic<std::size_t> next{number_of("SKALD_COMMITS", 0) / parts % stride};
  std::atomic<int> told{0}, died{0};
  const auto lane = [&] {
    try {
      FlowTelling telling(GetParam().dialect);
      for (std::size_t i = 0; (i = next.fetch_add(stride)) < all.size() && !HasFailure();) {
        ++told;
        died += tell(telling, all[i]) ? 1 : 0;
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  };
  {
    std::vector<std::jthread> lanes;
    for (int i = 0; i < 3; ++i) lanes.emplace_back(lane);
  }
  std::printf("%zu places to die: told of %d, died at %d\n", all.size(), told.load(), died.load());
  EXPECT_GT(died.load(), told.load() / 2) << "the order of commits is a matter of chance, but not everything is";
}

INSTANTIATE_TEST_SUITE_P(Of, AgentflowCrash, testing::ValuesIn(flow_crash_cases()), flow_crash_name);

}  // namespace
}  // namespace skald::crash
