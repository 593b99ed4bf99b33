// Queries: what people ask the agents of works.
#include "end_to_end/agentflow_asking.h"

namespace skald::test {
namespace {

using agentflow::AgentStatus;
using agentflow::QueryStatus;
using agentflow::QueryView;
using agentflow::WorkflowStatus;

class AgentflowQueries : public AgentflowAskingTest {
 protected:
  Response ask(const std::string& work_id, const std::string& text) {
    return call("POST", "/agentflow/works/" + work_id + "/queries", R"({"text":")" + text + R"("})");
  }
  std::vector<QueryView> queries(const std::string& work_id) {
    return from_json<Listing<QueryView>>(call("GET", "/agentflow/works/" + work_id + "/queries").body).items;
  }
  QueryView settled(const std::string& work_id) {
    until([&] { return !queries(work_id).empty() && queries(work_id).back().answered_at.has_value(); },
          "the query has no answer");
    return queries(work_id).back();
  }
};

TEST_P(AgentflowQueries, AnAgentThatRunsReadsAQueryAndAnswersIt) {
  const std::string id =
      create(add_git(), {{"while [ ! -e $SKALD_MAILBOX/query-1.json ]; do sleep 0.02; done\n" + mcp_call("read", "{}") +
                          "\n" + mcp_call("answer", R"({"query":"'$SKALD_WORK'.q1","text":"Half done."})", 2)}});
  act(id, "start");
  until([&] { return works(id)[0].agent_status == AgentStatus::RUNNING; }, "the agent does not begin");
  const std::string work = works(id)[0].id;
  EXPECT_EQ(ask(work, "How far are you?").status, 201);
  const QueryView query = settled(work);
  EXPECT_EQ(query.status, QueryStatus::RESPONDED);
  EXPECT_EQ(query.answer, "Half done.");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_NE(output(id).find("How far are you?"), std::string::npos) << output(id);
}

TEST_P(AgentflowQueries, AQueryToAFinishedAgentStartsOneInTheSameWorktreeAndItsOutputIsTheAnswerAndTheReport) {
  const std::string id = create_reporting("echo 42 > answer.txt");
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  const std::string work = works(id)[0].id;
  EXPECT_EQ(ask(work, "cat answer.txt").status, 201);
  EXPECT_EQ(settled(work).answer, "42\n");
  EXPECT_NE(call("GET", "/agentflow/works/" + work + "/report").body.find(R"("body":"42\n")"), std::string::npos);
  EXPECT_EQ(ask(work, "exit 5").status, 201);
  const QueryView failed = settled(work);
  EXPECT_EQ(failed.status, QueryStatus::FAILED);
  EXPECT_NE(failed.error.value_or("").find("exited with 5"), std::string::npos);
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
  until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the workflow is not deleted");
  expect_nothing_left();
}

TEST_P(AgentflowQueries, AQueryThatTheAgentLeavesUnansweredGetsAnAgentOfItsOwnWhenTheWorkEnds) {
  const std::string id = create(add_git(), {{waits_for(gate())}});
  act(id, "start");
  until([&] { return works(id)[0].agent_status == AgentStatus::RUNNING; }, "the agent does not begin");
  const std::string work = works(id)[0].id;
  EXPECT_EQ(ask(work, "echo late").status, 201);
  const std::string file = space(id) + "/.skald/" + *works(id)[0].tasks[0].run + "/query-1.json";
  until([&] { return std::filesystem::exists(file); }, "the query does not reach the agent");
  open_gate();
  EXPECT_EQ(settled(work).answer, "late\n");
}

TEST_P(AgentflowQueries, AWorkThatHasNotBegunCannotBeAsked) {
  const std::string id = create(add_git(), {{"true"}});
  const Response refused = ask(works(id)[0].id, "Why?");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(flow_problem(refused), "NO_AGENT_TO_ASK");
  EXPECT_EQ(flow_problem(ask(works(id)[0].id, "")), "BAD_TEXT_LENGTH");
}

INSTANTIATE_TEST_SUITE_P(Databases, AgentflowQueries, testing::Values(Dialect::sqlite, Dialect::postgres),
                         flow_database);

}  // namespace
}  // namespace skald::test
