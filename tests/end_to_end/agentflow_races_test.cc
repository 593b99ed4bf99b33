// Workflows in each other's way: the races that the founding document names, each as a test.
#include <thread>

#include "end_to_end/agentflow_site.h"

namespace skald::test {
namespace {

using agentflow::WorkflowStatus;
using agentflow::WorkStatus;

class AgentflowRaces : public AgentflowTest {
 protected:
  // Both begin while the row is locked by somebody else, and go on when both have come to it. On SQLite, where the
  // whole file is locked, nobody can tell when that is.
  template <class Row>
  void while_held(const std::string& row_id, const std::function<void()>& one, const std::function<void()>& other) {
    std::vector<std::jthread> both;
    (*db_)->write("test", [&](Transaction& tx) {
      tx.find_locked<Row>(row_id);
      if (both.empty()) both.emplace_back(one), both.emplace_back(other);
      if (GetParam() == Dialect::postgres)
        until([&] { return waiting_sessions(tx) == 2; }, "they do not come to the row");
    });
  }
  static std::int64_t waiting_sessions(Transaction& tx) {
    tx.query("SELECT pg_stat_clear_snapshot()::text");
    return tx
        .query("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
        .get<std::int64_t>(0, 0);
  }
  // Its agent has ended, and what follows stands still before the checkpoint.
  std::string at_the_end_of_its_first_work(std::vector<std::vector<std::string>> works_after) {
    works_after.insert(works_after.begin(), std::vector<std::string>{waits_for(gate())});
    const std::string id = create(add_git(), works_after);
    act(id, "start");
    until([&] { return works(id)[0].agent_status == agentflow::AgentStatus::RUNNING; }, "the agent does not begin");
    standstill_.at("git take_checkpoint");
    open_gate();
    standstill_.until_there();
    return id;
  }
  std::string add_server(const std::string& name) {
    const Response answer = call("POST", "/agentflow/mcp-servers", R"({"name":")" + name + R"(","command":"true"})");
    EXPECT_EQ(answer.status, 201) << answer.body;
    return from_json<agentflow::McpServerView>(answer.body).id;
  }
  std::string create_with(const std::string& git_id, const std::string& server_id, const std::string& script) {
    const Response answer =
        call("POST", "/agentflow/workflows",
             R"({"name":"flow","gitRefs":[{"gitId":")" + git_id + R"("}],"works":[{"name":"one","tasks":[{"prompt":")" +
                 script + R"("}],"mcpServerRefs":[")" + server_id + R"("]}]})");
    EXPECT_EQ(answer.status, 201) << answer.body;
    return from_json<agentflow::WorkflowView>(answer.body).id;
  }
  // Where the start has come to: READY or later, or CREATED again.
  bool has_started(const std::string& id) {
    until([&] { return show(id).status != WorkflowStatus::STARTING; }, "the start does not end");
    return show(id).status != WorkflowStatus::CREATED;
  }
};

TEST_P(AgentflowRaces, WorkflowsThatStartAtOnceOnOneGitAreAllRegisteredAndHaveAWorktreeEach) {
  constexpr int kMany = 12;
  const std::string git_id = add_git();
  std::vector<std::string> ids;
  for (int i = 0; i < kMany; ++i) ids.push_back(create(git_id, {{waits_for(gate())}}));
  std::vector<std::thread> threads;
  for (const std::string& id : ids) threads.emplace_back([&, id] { act(id, "start"); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& id : ids) becomes(id, WorkflowStatus::RUNNING);
  EXPECT_EQ(git(git_id).active_workflow_ids.size(), std::size_t(kMany));
  EXPECT_EQ(rows("SELECT COUNT(*) FROM flow_work_tree WHERE status = 'READY'"), kMany);
  expect_invariants();
  open_gate();
  for (const std::string& id : ids) becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowRaces, AGitIsEitherUsedOrDeletedNeverBoth) {
  const std::string git_id = add_git(), id = create(git_id, {{"true"}});
  int deleted = 0;
  while_held<agentflow::Git>(
      git_id, [&] { act(id, "start"); }, [&] { deleted = call("DELETE", "/agentflow/gits/" + git_id).status; });
  EXPECT_EQ(deleted, has_started(id) ? 409 : 200) << to_json(show(id));
  expect_invariants();
}

TEST_P(AgentflowRaces, WorkflowsThatStartAtOnceOnOneMcpServerAreAllRegistered) {
  const std::string git_id = add_git(), server = add_server("tools");
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(create_with(git_id, server, waits_for(gate())));
  std::vector<std::thread> threads;
  for (const std::string& id : ids) threads.emplace_back([&, id] { act(id, "start"); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& id : ids) becomes(id, WorkflowStatus::RUNNING);
  const auto view = from_json<agentflow::McpServerView>(call("GET", "/agentflow/mcp-servers/" + server).body);
  EXPECT_EQ(view.active_workflow_ids.size(), ids.size());
  open_gate();
  for (const std::string& id : ids) becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowRaces, AnMcpServerIsEitherUsedOrUnregisteredNeverBoth) {
  const std::string server = add_server("tools"), id = create_with(add_git(), server, "true");
  int deleted = 0;
  while_held<agentflow::McpServer>(
      server, [&] { act(id, "start"); }, [&] { deleted = call("DELETE", "/agentflow/mcp-servers/" + server).status; });
  EXPECT_EQ(deleted, has_started(id) ? 409 : 200) << to_json(show(id));
  expect_invariants();
}

TEST_P(AgentflowRaces, AStartThatFailsAfterItsRegistrationsTakesThemBackAndLeavesNothing) {
  const std::string git_id = add_git();
  const Response created =
      call("POST", "/agentflow/workflows",
           R"({"name":"flow","gitRefs":[{"gitId":")" + git_id +
               R"(","baseBranch":"nowhere"}],"works":[{"name":"one","tasks":[{"prompt":"true"}]}]})");
  const std::string id = from_json<agentflow::WorkflowView>(created.body).id;
  act(id, "start");
  EXPECT_FALSE(has_started(id));
  EXPECT_NE(show(id).error, std::nullopt);
  EXPECT_TRUE(git(git_id).active_workflow_ids.empty());
  EXPECT_EQ(rows("SELECT COUNT(*) FROM flow_work_tree"), 0);
  EXPECT_EQ(ask_git(*clock_, (folder_.path() / "repo").string(), {"branch", "--list", "skald/*"}), "");
  EXPECT_EQ(call("DELETE", "/agentflow/gits/" + git_id).status, 200);
}

TEST_P(AgentflowRaces, APauseBesideTheEndOfAWorkLosesNeither) {
  const std::string id = at_the_end_of_its_first_work({{waits_for(gate("second"))}});
  EXPECT_EQ(act(id, "pause").status, 202);
  until_waits("pause");
  standstill_.go_on();
  becomes(id, WorkflowStatus::PAUSED);
  EXPECT_EQ(works(id)[0].status, WorkStatus::COMPLETED);
  EXPECT_EQ(works(id)[1].status, WorkStatus::STOPPED);
  expect_invariants();
  open_gate("second");
  EXPECT_EQ(act(id, "resume").status, 202);
  becomes(id, WorkflowStatus::COMPLETED);
  for (const auto& work : works(id)) EXPECT_EQ(work.status, WorkStatus::COMPLETED);
}

TEST_P(AgentflowRaces, APauseBesideTheStartOfAnAgentLeavesNoAgent) {
  const std::string id = create(add_git(), {{waits_for(gate())}});
  standstill_.at("agent start");
  act(id, "start");
  standstill_.until_there();
  EXPECT_EQ(act(id, "pause").status, 202);
  becomes(id, WorkflowStatus::PAUSED);
  standstill_.go_on();
  until([&] { return rows("SELECT COUNT(*) FROM skald_saga WHERE live = 1 AND status <> 'NEEDS_HELP'") == 0; },
        "the sagas do not end");
  until([&] { return live_runs() == 0; }, "an agent runs on");
  expect_invariants();
}

TEST_P(AgentflowRaces, OfACompletionByWordAndTheAgentsFailureTheFirstCounts) {
  const std::string git_id = add_git();
  const auto run = [&](const std::string& name) {
    const std::string id = create(git_id, {{waits_for(gate(name)) + "; exit 1"}});
    act(id, "start");
    until([&] { return works(id)[0].agent_status == agentflow::AgentStatus::RUNNING; }, "the agent does not begin");
    return id;
  };
  const auto complete = [&](const std::string& id) {
    return call("POST", "/agentflow/works/" + works(id)[0].id + "/tasks/1/complete").status;
  };
  const std::string by_word = run("first");
  EXPECT_EQ(complete(by_word), 200);
  open_gate("first");
  becomes(by_word, WorkflowStatus::COMPLETED);

  const std::string by_failure = run("second");
  open_gate("second");
  becomes(by_failure, WorkflowStatus::FAILED);
  EXPECT_EQ(complete(by_failure), 409);
  EXPECT_EQ(works(by_failure)[0].status, WorkStatus::FAILED);
  EXPECT_EQ(works(by_word)[0].status, WorkStatus::COMPLETED);
  expect_invariants();
}

TEST_P(AgentflowRaces, ACancelBesideTheEndOfAWorkLosesNeither) {
  const std::string id = at_the_end_of_its_first_work({{waits_for(gate("second"))}});
  EXPECT_EQ(act(id, "cancel").status, 202);
  until_waits("cancel");
  standstill_.go_on();
  becomes(id, WorkflowStatus::CANCELLED);
  EXPECT_EQ(works(id)[0].status, WorkStatus::COMPLETED);
  EXPECT_EQ(works(id)[1].status, WorkStatus::CANCELLED);
  until([&] { return git(show(id).git_refs[0].git_id).active_workflow_ids.empty(); }, "the git is not released");
  expect_invariants();
}

TEST_P(AgentflowRaces, ACancelWhileTheWorkflowIsStartingTakesTheStartBackFirst) {
  const std::string git_id = add_git();
  for (int round = 0; round < 5; ++round) {
    const std::string id = create(git_id, {{"sleep 1000"}});
    act(id, "start");
    EXPECT_EQ(act(id, "cancel").status, 202);
    becomes(id, WorkflowStatus::CANCELLED);
    until([&] { return git(git_id).active_workflow_ids.empty(); }, "the git is not released");
    EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
    until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the workflow is not deleted");
  }
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowRaces, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
