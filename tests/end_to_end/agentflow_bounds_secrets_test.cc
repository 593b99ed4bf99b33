// Agents that repeat what they were given in confidence: nobody reads it.
#include <filesystem>
#include <fstream>

#include "end_to_end/agentflow_asking.h"

namespace skald::test {
namespace {

using agentflow::WorkflowStatus;

constexpr const char* kToken = "tok-4f9a\"7c";  // JSON writes it otherwise
constexpr const char* kMcpSecret = "mcp-secret-0815";

class AgentflowBoundsSecrets : public AgentflowAskingTest {
 protected:
  AgentflowBoundsSecrets() {
    options_.variables = {{"SERVICE_TOKEN", kToken}, {"SERVICE_NAME", "the-service"}, {"PIN_KEY", "12345"}};
    presets_["teller"] = {.argv = {"sh", "-eu", "-s"},
                          .variables = {"SERVICE_TOKEN", "SERVICE_NAME", "PIN_KEY"},
                          .question_pattern = "^QUESTION: (.*)$"};
    restart();
  }

  std::string run(const std::string& script, const std::string& more = "") {
    const std::string id = create(add_git(), {{script}}, R"("agent":"teller",)" + more);
    act(id, "start");
    return id;
  }
  // The names of files that hold that text, whatever they are.
  std::vector<std::string> files_with(const std::string& text) const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      if (bytes.find(text) != bytes.npos) out.push_back(entry.path().filename());
    }
    return out;
  }
  std::int64_t events_with(const std::string& text) {
    return rows("SELECT COUNT(*) FROM flow_history WHERE payload LIKE '%" + text + "%'") +
           rows("SELECT COUNT(*) FROM skald_outbox WHERE payload LIKE '%" + text + "%'");
  }
};

TEST_P(AgentflowBoundsSecrets, TheOutputShowsStarsAndNoFileOfOursHasTheSecret) {
  const std::string id = run("echo \"$SERVICE_TOKEN at $SERVICE_NAME, $PIN_KEY\"");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(output(id), "*** at the-service, 12345\n");
  EXPECT_EQ(files_with("tok-4f9a"), std::vector<std::string>{});
}

TEST_P(AgentflowBoundsSecrets, ASecretThatIsWrittenInTwoPartsIsFound) {
  const std::string id = run("printf '%s' 'begin tok-4'; echo >&2 -n; " + waits_for(gate()) + "; echo 'f9a\"7c end'");
  until([&] { return output(id) == "begin "; }, "the agent says nothing");
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(output(id), "begin *** end\n");
}

TEST_P(AgentflowBoundsSecrets, AQuestionByALineOfOutputShowsStars) {
  const std::string id = run("echo \"QUESTION: is $SERVICE_TOKEN right?\"");
  EXPECT_EQ(open_question().text, "is *** right?");
  EXPECT_EQ(events_with("tok-4f9a"), 0);
  act(id, "cancel");
  becomes(id, WorkflowStatus::CANCELLED);
}

TEST_P(AgentflowBoundsSecrets, WhatAnAgentSaysThroughItsMailboxShowsStars) {
  const std::string id = run(mcp_call("ask", R"({"question":"is tok-4f9a\"7c right?"})"));
  EXPECT_EQ(open_question().text, "is *** right?");
  EXPECT_EQ(events_with("tok-4f9a"), 0);
  EXPECT_EQ(answer(open_question(), "yes").status, 200);
  becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowBoundsSecrets, TheSecretsOfMcpServersAreHiddenAsTheFileHasThem) {
  setenv("SKALD_TEST_MCP_SECRET", kMcpSecret, 1);
  std::ofstream(folder_.path() / "secret") << "of\ttwo words\n";
  const Response added =
      call("POST", "/agentflow/mcp-servers",
           R"({"name":"tools","command":"true","env":{"A":"${env:SKALD_TEST_MCP_SECRET}","B":"${file:)" +
               (folder_.path() / "secret").string() + R"(}","C":"plain words"}})");
  ASSERT_EQ(added.status, 201) << added.body;
  const std::string server = from_json<agentflow::McpServerView>(added.body).id;
  const agentflow::NewWorkflow asked{
      .name = "flow",
      .agent = "teller",
      .git_refs = std::vector<agentflow::GitRef>{{add_git(), {}}},
      .works = std::vector<agentflow::NewWork>{{.name = "work",
                                                .tasks = {{"cat $SKALD_MCP; printf 'of\\ttwo words\\n'", {}}},
                                                .mcp_server_refs = agentflow::Ids{server},
                                                .wants_report = {}}}};
  const std::string id =
      from_json<agentflow::WorkflowView>(call("POST", "/agentflow/workflows", to_json(asked)).body).id;
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  unsetenv("SKALD_TEST_MCP_SECRET");
  EXPECT_NE(output(id).find(R"("A":"***","B":"***","C":"plain words")"), std::string::npos) << output(id);
  EXPECT_TRUE(output(id).ends_with("\n***\n")) << output(id);
}

TEST_P(AgentflowBoundsSecrets, TheSettingSaysWhichNamesAreSecret) {
  options_.secret_variables = {"service_n*"};
  restart();
  const std::string id = run("echo \"$SERVICE_TOKEN at $SERVICE_NAME\"");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(output(id), "tok-4f9a\"7c at ***\n");
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowBoundsSecrets, testing::Values(Dialect::sqlite, Dialect::postgres),
                         flow_database);

}  // namespace
}  // namespace skald::test
