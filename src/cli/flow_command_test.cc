// skald flow …, with a server that is a table of answers.
#include "cli/flow_command_fixture.h"

namespace skald::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST_F(FlowCommandTest, GitsAreListedAddedAndRemoved) {
  const std::string git = R"({"id":"G1","name":"site","path":"/srv/site","status":"READY","activeWorkflowIds":["F1"]})";
  answer("GET /agentflow/gits?limit=5", R"({"items":[)" + git + R"(],"nextCursor":"abc"})");
  answer("POST /agentflow/gits", git, 201);
  answer("DELETE /agentflow/gits/a%2Fb", git);
  EXPECT_EQ(run({"gits", "list", "--limit", "5"}), kDone);
  EXPECT_EQ(out_.str(),
            "ID  NAME  STATUS  USED BY  PATH       REMOTE  ERROR\n"
            "G1  site  READY   1        /srv/site\n"
            "\nthere is more: --cursor abc\n");
  run({"gits", "add", "site", "--path", "/srv/site"});
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/gits {"name":"site","path":"/srv/site"})");
  run({"gits", "add", "site", "--remote", "https://a/b.git", "--json"});
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/gits {"name":"site","remote":"https://a/b.git"})");
  EXPECT_EQ(out_.str(), git + "\n");
  run({"gits", "remove", "a/b"});
  EXPECT_THAT(out_.str(), HasSubstr("site"));
}

TEST_F(FlowCommandTest, AGitHasEitherAPathOrARemoteAndNoPasswordInIt) {
  EXPECT_THAT(refusal_of({"gits", "add", "site"}), HasSubstr("USAGE"));
  EXPECT_THAT(refusal_of({"gits", "add", "site", "--path", "/a", "--remote", "b"}), HasSubstr("USAGE"));
  const std::string told = refusal_of({"gits", "add", "site", "--remote", "https://kim:hunter2@a/b.git"});
  EXPECT_THAT(told, HasSubstr("credential helper"));
  EXPECT_THAT(told, Not(HasSubstr("hunter2")));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(FlowCommandTest, McpServersAreListedAndRemoved) {
  const std::string server = R"({"id":"M1","name":"search","command":"find","args":["-v"],"envNames":["KEY"]})";
  answer("GET /agentflow/mcp-servers", R"({"items":[)" + server + "]}");
  answer("DELETE /agentflow/mcp-servers/M1", server);
  run({"mcp", "list"});
  EXPECT_THAT(out_.str(), HasSubstr(R"(M1  search  0        find            ["-v"]  ["KEY"])"));
  EXPECT_EQ(run({"mcp", "remove", "M1"}), kDone);
}

TEST_F(FlowCommandTest, WorkflowsAreListedByStatus) {
  answer("GET /agentflow/workflows?status=RUNNING", R"({"items":[)" + std::string(kFlow) + "]}");
  run({"list", "--status", "RUNNING"});
  EXPECT_EQ(out_.str(),
            "ID  NAME   STATUS   WORKS DONE  AGENT  CREATED               ERROR\n"
            "F1  greet  RUNNING  1 of 2      shell  2026-11-15T20:00:00Z\n");
}

TEST_F(FlowCommandTest, AWorkflowIsShownWithItsTasksAndWhatCameOfThem) {
  answer("GET /agentflow/workflows/F1", kFlow);
  answer(
      "GET /agentflow/workflows/F1/works",
      R"({"items":[{"id":"W1","name":"write","status":"FAILED","error":"its task failed","tasks":[)"
      R"({"n":1,"prompt":"p","status":"COMPLETED","attempt":1,"outcome":"FINISHED","exitCode":0},)"
      R"({"n":2,"prompt":"q","status":"FAILED","attempt":2,"outcome":"EXITED","exitCode":3,"error":"\u001b[2J"}]}]})");
  run({"show", "F1"});
  EXPECT_THAT(out_.str(), HasSubstr("W1    write  FAILED  1     COMPLETED    FINISHED  0     1"));
  EXPECT_THAT(out_.str(), HasSubstr("                     2     FAILED       EXITED    3     2"));
  EXPECT_THAT(out_.str(), HasSubstr("\\u001b[2J"));
  EXPECT_THAT(out_.str(), HasSubstr("worktree   /data/F1 is READY, branch skald/F1\n"));
  run({"show", "F1", "--json"});
  EXPECT_THAT(out_.str(), HasSubstr(R"("exitCode":3)"));
  EXPECT_THAT(out_.str(), HasSubstr(R"("allowed":["pause","cancel"])"));
}

TEST_F(FlowCommandTest, ActsAreAskedForAndARefusalIsTheProblemsSentence) {
  for (const char* act : {"start", "pause", "resume", "cancel"}) {
    answer("POST /agentflow/workflows/F1/" + std::string(act), kFlow, 202);
    EXPECT_EQ(run({act, "F1"}), kDone);
    EXPECT_THAT(out_.str(), HasSubstr("RUNNING"));
  }
  answer("DELETE /agentflow/workflows/F1", kFlow, 202);
  EXPECT_EQ(run({"delete", "F1"}), kDone);
  answer("POST /agentflow/workflows/F1/start", R"({"code":"WRONG_STATE","detail":"it is RUNNING"})", 409);
  EXPECT_EQ(refusal_of({"start", "F1"}), "WRONG_STATE it is RUNNING");
}

TEST_F(FlowCommandTest, CheckpointsAndAgentsAreTables) {
  answer("GET /agentflow/workflows/F1/checkpoints",
         R"({"items":[{"id":"C1","workId":"W1","createdAt":"now","commits":[{"gitId":"G1","commit":"abc"}]}]})");
  answer("GET /agentflow/agents",
         R"({"presets":["shell"],"running":[{"run":"R1","workId":"W1","n":1,"pid":42,"outputBytes":7}]})");
  run({"checkpoints", "F1"});
  EXPECT_THAT(out_.str(), HasSubstr("C1  W1    now      G1   abc\n"));
  run({"agents"});
  EXPECT_THAT(out_.str(), HasSubstr(R"(presets  ["shell"])"));
  EXPECT_THAT(out_.str(), HasSubstr("W1    1     42            7             R1\n"));
}

constexpr const char* kPlan =
    "name = 'greet'\n[[gitRefs]]\ngitId = 'my site'\n[[works]]\nname = 'w'\nmcpServerRefs = ['search', 'M2']\n"
    "tasks = [{prompt = 'make'}]\n";

TEST_F(FlowCommandTest, AFileNamesGitsAndServersByNameOrId) {
  answer("GET /agentflow/gits?name=my%20site", R"({"items":[{"id":"G1"}]})");
  answer("GET /agentflow/mcp-servers?name=search", R"({"items":[{"id":"M1"}]})");
  answer("GET /agentflow/mcp-servers?name=M2", R"({"items":[]})");
  answer("GET /agentflow/mcp-servers/M2", R"({"id":"M2"})");
  answer("POST /agentflow/workflows", kFlow, 201);
  answer("POST /agentflow/workflows/F1/start", R"({"id":"F1","status":"STARTING"})", 202);
  run({"create", plan("plan.toml", kPlan)});
  EXPECT_THAT(asked_.back(), HasSubstr(R"("gitId":"G1")"));
  EXPECT_THAT(asked_.back(), HasSubstr(R"("mcpServerRefs":["M1","M2"])"));
  EXPECT_THAT(out_.str(), HasSubstr("greet"));
  run({"create", plan("plan.toml", kPlan), "--start", "--json"});
  EXPECT_EQ(asked_.back(), "POST /agentflow/workflows/F1/start");
  EXPECT_EQ(out_.str(), "{\"id\":\"F1\",\"status\":\"STARTING\"}\n");
  answer("POST /agentflow/workflows/F1/start", R"({"code":"GIT_NOT_READY","detail":"it is being cloned"})", 409);
  EXPECT_EQ(refusal_of({"create", plan("plan.toml", kPlan), "--start"}),
            "GIT_NOT_READY workflow F1 is created and not started: it is being cloned");
}

TEST_F(FlowCommandTest, WhatAFileNamesInVainIsToldWithItsLine) {
  answer("GET /agentflow/gits?name=my%20site", R"({"items":[]})");
  const std::string path = plan("plan.toml", kPlan);
  EXPECT_EQ(refusal_of({"create", path}), "BAD_REFERENCE " + path +
                                              ":3: at /gitRefs/0/gitId: there is no git of the name or id 'my site'; "
                                              "`skald flow gits list` lists them");
  EXPECT_THAT(asked_, ElementsAre("GET /agentflow/gits?name=my%20site")) << "nothing is created";
}

TEST_F(FlowCommandTest, WhatTheServerRefusesOfAFileIsToldWithItsLine) {
  const std::string path = plan("plan.toml", "name = 'greet'\n[[works]]\nname = 7\n");
  answer("POST /agentflow/workflows", R"({"code":"INVALID_VALUE","detail":"at /works/0/name: expected a text"})", 422);
  EXPECT_EQ(refusal_of({"create", path}), "INVALID_VALUE " + path + ":3: at /works/0/name: expected a text");
  answer("POST /agentflow/workflows", R"({"code":"BAD_WORKS","detail":"a workflow has works"})", 422);
  EXPECT_EQ(refusal_of({"create", path}), "BAD_WORKS " + path + ": a workflow has works");
}

}  // namespace
}  // namespace skald::cli
