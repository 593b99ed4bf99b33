#include "host/agents.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/test_database.h"

namespace skald::host {
namespace {

class AgentPresets : public testing::Test {
 protected:
  std::map<std::string, agentflow::Preset> read(const std::string& text) {
    const std::string path = (folder_.path() / "agents.toml").string();
    std::ofstream(path) << text;
    return agent_presets(path);
  }
  std::string refusal_of(const std::string& members) {
    try {
      read("[mine]\ncommand = [\"true\"]\n" + members);
    } catch (const Invalid& error) {
      return error.code() == "BAD_SETTING" ? error.what() : error.code();
    }
    return "";
  }

  test::TemporaryFolder folder_;
};

TEST_F(AgentPresets, EveryMemberIsTaken) {
  const auto preset = read(R"([mine]
command = ["true", "{prompt}"]
variables = ["KEY"]
timeout_seconds = 7
output_max_bytes = 8192
cost_pattern = 'cost: ([0-9.]+)'
cost_max = 3
restore_before_retry = false
)")
                          .at("mine");
  EXPECT_EQ(preset.argv.at(1), "{prompt}");
  EXPECT_EQ(preset.variables.at(0), "KEY");
  EXPECT_EQ(preset.timeout, 7s);
  EXPECT_EQ(preset.output_max, 8192);
  EXPECT_EQ(preset.cost_pattern, "cost: ([0-9.]+)");
  EXPECT_EQ(preset.cost_max, 3);
  EXPECT_FALSE(preset.restore_before_retry);
}

TEST_F(AgentPresets, ASandboxIsTakenWithWhatBelongsToIt) {
  const auto all = read(
      "[safe]\ncommand = [\"true\"]\nsandbox = \"required\"\nnetwork = false\nreadable = [\"~/.safe\", \"/opt\"]\n"
      "[hoping]\ncommand = [\"true\"]\nsandbox = \"wanted\"\n[free]\ncommand = [\"true\"]\nsandbox = \"off\"\n");
  EXPECT_EQ(all.at("safe").sandbox, agentflow::Sandbox::required);
  EXPECT_FALSE(all.at("safe").network);
  EXPECT_EQ(all.at("safe").readable, (std::vector<std::string>{"~/.safe", "/opt"}));
  EXPECT_EQ(all.at("hoping").sandbox, agentflow::Sandbox::wanted);
  EXPECT_TRUE(all.at("hoping").network);
  EXPECT_EQ(all.at("free").sandbox, agentflow::Sandbox::off);
  for (const char* wrong : {"sandbox = \"yes\"", "sandbox = true", "sandbox = \"\"", "network = false",
                            "readable = [\"/opt\"]", "sandbox = \"wanted\"\nreadable = [\"opt\"]"})
    EXPECT_NE(refusal_of(wrong), "") << wrong;
}

TEST_F(AgentPresets, AMachineWithoutSandboxesIsToldOfWhereOneIsWanted) {
  const auto clock = system_clock();
  const auto presets = read("[safe]\ncommand = [\"true\"]\nsandbox = \"wanted\"\n[free]\ncommand = [\"true\"]\n");
  const std::string path = getenv("PATH");
  setenv("PATH", folder_.path().c_str(), 1);
  const std::string told = sandbox_warning(*clock, presets).value_or("");
  const auto free = sandbox_warning(*clock, {{"free", presets.at("free")}});
  setenv("PATH", path.c_str(), 1);
  EXPECT_NE(told.find("(safe)"), std::string::npos) << told;
  EXPECT_NE(told.find("bwrap"), std::string::npos) << told;
  EXPECT_EQ(free, std::nullopt);
  EXPECT_EQ(sandbox_warning(*clock, presets), std::nullopt);
}

TEST_F(AgentPresets, WhatIsNotSaidIsBoundedAllTheSame) {
  const auto preset = read("[mine]\ncommand = [\"true\"]\n").at("mine");
  EXPECT_EQ(preset.timeout, 1h);
  EXPECT_EQ(preset.output_max, 64 << 20);
  EXPECT_EQ(preset.cost_max, 0);
  EXPECT_TRUE(preset.restore_before_retry);
}

TEST_F(AgentPresets, AWrongMemberIsRefusedWithItsFileItsAgentAndItsName) {
  const std::pair<const char*, const char*> cases[] = {
      {"timeout_seconds = 0", "timeout_seconds"},
      {"timeout_seconds = \"7\"", "timeout_seconds"},
      {"output_max_bytes = 1", "output_max_bytes"},
      {"cost_pattern = 'cost'", "cost_pattern"},
      {"cost_pattern = '(['", "cost_pattern"},
      {"cost_json = '.a'", "cost_json"},
      {"cost_json = 'a'\ncost_pattern = '(a)'", "choose one"},
      {"cost_max = 1", "needs cost_pattern or cost_json"},
      {"cost_json = 'a'\ncost_max = -1", "cost_max"},
      {"cost_json = 'a'\ncost_max = nan", "cost_max"},
      {"sandbox = true", "sandbox"},  // nothing is promised that is not kept
      {"restore_before_retry = 'no'", "restore_before_retry"},
      {"colour = 1", "colour"},
  };
  for (const auto& [members, told] : cases) {
    const std::string refusal = refusal_of(members);
    EXPECT_NE(refusal.find(told), std::string::npos) << members << ": " << refusal;
    EXPECT_NE(refusal.find("agents.toml: agent mine"), std::string::npos) << refusal;
  }
}

}  // namespace
}  // namespace skald::host
