// Changing workflows: their repositories and their works, at rest and while they run. The first three traps of the
// founding document are here.
#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "end_to_end/agentflow_site.h"

namespace skald::test {
namespace {

using agentflow::ModificationStatus;
using agentflow::TreeStatus;
using agentflow::WorkflowStatus;
using agentflow::WorkStatus;

class AgentflowModify : public AgentflowTest {
 protected:
  AgentflowModify() {
    make_repository(*clock_, second_path());
    one_ = add_git("one");
    const Response answer = call("POST", "/agentflow/gits", R"({"name":"two","path":")" + second_path() + R"("})");
    EXPECT_EQ(answer.status, 201) << answer.body;
    two_ = from_json<agentflow::GitView>(answer.body).id;
  }

  std::string second_path() const { return (folder_.path() / "second").string(); }
  Response patch(const std::string& id, const std::string& body) {
    return call("PATCH", "/agentflow/workflows/" + id, body);
  }
  static std::string refs(const std::vector<std::string>& gits) {
    std::string out;
    for (const std::string& git_id : gits) out += (out.empty() ? "" : ",") + (R"({"gitId":")" + git_id + R"("})");
    return R"("gitRefs":[)" + out + "]";
  }
  // The end of the change that was accepted.
  agentflow::ModificationNote change(const std::string& id, const std::string& body) {
    const Response answer = patch(id, body);
    EXPECT_EQ(answer.status, 202) << answer.body;
    until([&] { return show(id).modification->status != ModificationStatus::RUNNING; }, "the change does not end");
    return *show(id).modification;
  }
  void expect_done(const agentflow::ModificationNote& note) {
    EXPECT_EQ(note.status, ModificationStatus::DONE) << note.error.value_or("");
  }
  std::optional<TreeStatus> tree(const std::string& id, const std::string& git_id) {
    for (const agentflow::TreeView& one : show(id).work_trees)
      if (one.git_id == git_id) return one.status;
    return std::nullopt;
  }
  bool is_registered(const std::string& git_id, const std::string& id) {
    const auto ids = git(git_id).active_workflow_ids;
    return std::ranges::find(ids, id) != ids.end();
  }
  std::string running(const std::vector<std::vector<std::string>>& works_after) {
    std::vector<std::vector<std::string>> all = {{waits_for(gate())}};
    all.insert(all.end(), works_after.begin(), works_after.end());
    const std::string id = create(one_, all);
    act(id, "start");
    until([&] { return works(id)[0].agent_status == agentflow::AgentStatus::RUNNING; }, "the agent does not begin");
    return id;
  }

  std::string one_, two_;
};

TEST_P(AgentflowModify, AGitThatIsTakenOutWhileAWorkRunsIsReleasedOnlyWhenItsWorktreeIsGone) {
  const std::string id = create(one_, {{waits_for(gate())}, {"test ! -e ../two"}});
  expect_done(change(id, "{" + refs({one_, two_}) + "}"));
  act(id, "start");
  becomes(id, WorkflowStatus::RUNNING);
  until([&] { return works(id)[0].agent_status == agentflow::AgentStatus::RUNNING; }, "the agent does not begin");
  expect_done(change(id, "{" + refs({one_}) + "}"));
  EXPECT_EQ(tree(id, two_), TreeStatus::RELEASING);
  EXPECT_TRUE(is_registered(two_, id));
  EXPECT_EQ(call("DELETE", "/agentflow/gits/" + two_).status, 409);
  EXPECT_TRUE(std::filesystem::exists(*show(id).space + "/two"));
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(tree(id, two_), std::nullopt);
  EXPECT_FALSE(is_registered(two_, id));
  EXPECT_EQ(call("DELETE", "/agentflow/gits/" + two_).status, 200);
  EXPECT_EQ(ask_git(*clock_, second_path(), {"for-each-ref", "--format=%(refname)"}), "refs/heads/main");
}

TEST_P(AgentflowModify, AGitThatIsAddedWhileAWorkRunsHasItsWorktreeBeforeTheNextWork) {
  const std::string id = running({{"cat ../two/first.txt"}});
  expect_done(change(id, "{" + refs({one_, two_}) + "}"));
  EXPECT_EQ(tree(id, two_), TreeStatus::PENDING);
  EXPECT_TRUE(is_registered(two_, id));
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(tree(id, two_), TreeStatus::READY);
  expect_invariants();
}

TEST_P(AgentflowModify, AStartThatFailsLeavesWhatAChangeHasRegisteredBefore) {
  const std::string id = create(one_, {{"true"}});
  expect_done(change(id, "{" + refs({one_, two_}) + "}"));
  EXPECT_EQ(tree(id, two_), TreeStatus::PENDING);
  EXPECT_TRUE(is_registered(two_, id));
  std::filesystem::rename(folder_.path() / "repo", folder_.path() / "elsewhere");
  act(id, "start");
  until([&] { return show(id).error.has_value(); }, "the start does not fail");
  becomes(id, WorkflowStatus::CREATED);
  EXPECT_TRUE(is_registered(two_, id));
  EXPECT_FALSE(is_registered(one_, id));
  EXPECT_EQ(tree(id, two_), TreeStatus::PENDING);
  EXPECT_EQ(tree(id, one_), std::nullopt);
  std::filesystem::rename(folder_.path() / "elsewhere", folder_.path() / "repo");
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
  until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the deletion does not end");
  EXPECT_FALSE(is_registered(two_, id));
  expect_nothing_left();
}

TEST_P(AgentflowModify, AtRestWorktreesFollowAtOnce) {
  const std::string id = running({{"true"}});
  act(id, "pause");
  becomes(id, WorkflowStatus::PAUSED);
  expect_done(change(id, "{" + refs({one_, two_}) + "}"));
  EXPECT_EQ(tree(id, two_), TreeStatus::READY);
  EXPECT_TRUE(std::filesystem::exists(*show(id).space + "/two/first.txt"));
  expect_done(change(id, "{" + refs({one_}) + "}"));
  EXPECT_EQ(tree(id, two_), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(*show(id).space + "/two"));
  EXPECT_FALSE(is_registered(two_, id));
  expect_invariants();
}

TEST_P(AgentflowModify, AWorktreeOnItsWayOutGoesAlsoWhereTheWorkIsStopped) {
  const std::string id = create(one_, {{waits_for(gate())}});
  expect_done(change(id, "{" + refs({one_, two_}) + "}"));
  act(id, "start");
  until([&] { return works(id)[0].agent_status == agentflow::AgentStatus::RUNNING; }, "the agent does not begin");
  expect_done(change(id, "{" + refs({one_}) + "}"));
  const Response again = patch(id, "{" + refs({one_, two_}) + "}");
  until([&] { return show(id).modification->status == ModificationStatus::FAILED; }, "it is not refused");
  EXPECT_THAT(*show(id).modification->error, testing::StartsWith("TREE_LEAVES"));
  act(id, "pause");
  becomes(id, WorkflowStatus::PAUSED);
  until([&] { return !tree(id, two_) && !is_registered(two_, id); }, "the worktree stays");
}

TEST_P(AgentflowModify, AWorktreeThatCannotBeMadeFailsTheWorkflowAndIsTriedAgainWhenItIsResumed) {
  const std::string id = running({{"cat ../two/first.txt"}});
  expect_done(
      change(id, R"({"gitRefs":[{"gitId":")" + one_ + R"("},{"gitId":")" + two_ + R"(","baseBranch":"later"}]})"));
  open_gate();
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_EQ(tree(id, two_), TreeStatus::FAILED);
  EXPECT_THAT(*show(id).error, testing::HasSubstr("NO_SUCH_REF"));
  ask_git(*clock_, second_path(), {"branch", "later"});
  act(id, "resume");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(tree(id, two_), TreeStatus::READY);
}

TEST_P(AgentflowModify, WorksThatHaveNotRunAreReplacedAndTheOthersStay) {
  const std::string id = running({{"false"}, {"echo kept"}});
  const auto before = works(id);
  expect_done(
      change(id, R"({"name":"other","works":[{"id":")" + before[2].id +
                     R"(","name":"now second"},{"name":"new","tasks":[{"prompt":"echo new"}],"wantsReport":true}]})"));
  const auto after = works(id);
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(after[0].id, before[0].id);
  EXPECT_EQ(after[1].id, before[2].id);
  EXPECT_EQ(after[1].name, "now second");
  EXPECT_EQ(after[1].tasks[0].prompt, "echo kept");
  EXPECT_EQ(after[2].name, "new");
  EXPECT_EQ(show(id).name, "other");
  const auto refused = change(id, R"({"works":[{"id":")" + before[0].id + R"("}]})");
  EXPECT_EQ(refused.status, ModificationStatus::FAILED);
  EXPECT_THAT(*refused.error, testing::StartsWith("WORK_HAS_BEGUN"));
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  expect_invariants();
}

TEST_P(AgentflowModify, McpServersAreRegisteredAndReleasedAsTheWorksUseThem) {
  const auto server = [&](const std::string& name) {
    return from_json<agentflow::McpServerView>(
               call("POST", "/agentflow/mcp-servers", R"({"name":")" + name + R"(","command":"true"})").body)
        .id;
  };
  const auto users = [&](const std::string& server_id) {
    return from_json<agentflow::McpServerView>(call("GET", "/agentflow/mcp-servers/" + server_id).body)
        .active_workflow_ids.size();
  };
  const std::string id = running({{"true"}}), tools = server("tools");
  const std::string second = works(id)[1].id;
  expect_done(change(id, R"({"works":[{"id":")" + second + R"(","mcpServerRefs":[")" + tools + R"("]}]})"));
  EXPECT_EQ(users(tools), 1U);
  EXPECT_EQ(call("DELETE", "/agentflow/mcp-servers/" + tools).status, 409);
  expect_done(change(id, R"({"works":[{"id":")" + second + R"(","mcpServerRefs":[]}]})"));
  until([&] { return users(tools) == 0; }, "the server is not released");
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowModify, WhatMakesNoSenseIsRefusedAtOnce) {
  const std::string id = running({{"true"}});
  EXPECT_EQ(flow_problem(patch(id, R"({"gitRefs":[]})")), "BAD_REFERENCE");
  EXPECT_EQ(flow_problem(patch(id, R"({"works":[{"name":"no tasks"}]})")), "BAD_WORKS");
  EXPECT_EQ(flow_problem(patch(id, R"({"agent":"nobody"})")), "NO_SUCH_AGENT");
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  const Response late = patch(id, R"({"name":"late"})");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(flow_problem(late), "WRONG_STATE");
}

TEST_P(AgentflowModify, AResumptionWaitsForAChangeThatIsUnderWay) {
  const std::string id = running({{"cat ../two/first.txt"}});
  act(id, "pause");
  becomes(id, WorkflowStatus::PAUSED);
  standstill_.at("git add_tree");
  EXPECT_EQ(patch(id, "{" + refs({one_, two_}) + "}").status, 202);
  standstill_.until_there();
  EXPECT_EQ(act(id, "resume").status, 202);
  until_waits("resume");
  EXPECT_EQ(show(id).status, WorkflowStatus::PAUSED);
  standstill_.go_on();
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(show(id).modification->status, ModificationStatus::DONE);
  EXPECT_EQ(tree(id, two_), TreeStatus::READY);
  expect_invariants();
}

TEST_P(AgentflowModify, AChangeWaitsForTheNextWorkThatIsUnderWay) {
  const std::string id = running({{waits_for(gate("second"))}, {"echo old"}});
  standstill_.at("git take_checkpoint");
  open_gate();
  standstill_.until_there();
  EXPECT_EQ(patch(id, R"({"works":[{"name":"new","tasks":[{"prompt":"echo new"}]}]})").status, 202);
  until_waits("modify");
  standstill_.go_on();
  until([&] { return show(id).modification->status != ModificationStatus::RUNNING; }, "the change does not end");
  expect_done(*show(id).modification);
  open_gate("second");
  becomes(id, WorkflowStatus::COMPLETED);
  const auto all = works(id);
  ASSERT_EQ(all.size(), 3U) << "the work that had begun stays, the one that had not is replaced";
  EXPECT_EQ(all[2].name, "new");
  for (const auto& work : all) EXPECT_EQ(work.status, WorkStatus::COMPLETED) << to_json(all);
  expect_invariants();
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowModify, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
