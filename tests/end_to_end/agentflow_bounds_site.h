// Agentflow with presets of its own, for tests of what bounds agents.
#pragma once

#include "end_to_end/agentflow_site.h"

namespace skald::test {

class AgentflowBoundsTest : public AgentflowTest {
 protected:
  // A preset that runs the task's text as a script and tells its cost by "cost: N".
  AgentflowBoundsTest() {
    agentflow::Preset priced{.argv = {"sh", "-eu", "-s"}};
    priced.cost_pattern = "cost: ([0-9.]+)";
    presets_["priced"] = priced;
    restart();
  }

  std::string create_priced(const std::vector<std::vector<std::string>>& works, const std::string& limits) {
    auto scripts = works;  // a second try is told so behind the text, which is no script
    for (auto& work : scripts)
      for (std::string& script : work) script += "\nexit";
    return create(add_git(), scripts, R"("agent":"priced","limits":)" + limits + ",");
  }
  void resume_with(const std::string& id, const std::string& limits, int status = 202) {
    const Response answer = call("POST", "/agentflow/workflows/" + id + "/resume", R"({"limits":)" + limits + "}");
    EXPECT_EQ(answer.status, status) << answer.body;
  }
  bool tells(const std::optional<std::string>& text, const std::string& part) {
    return text.value_or("").find(part) != std::string::npos;
  }
  std::int64_t agents_running() {
    return static_cast<std::int64_t>(
        json::parse(call("GET", "/agentflow/agents").body).at("running").as_array().size());
  }
  void delete_and_expect_nothing_left(const std::string& id) {
    EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
    until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the workflow is not deleted");
    expect_nothing_left();
  }
};

}  // namespace skald::test
