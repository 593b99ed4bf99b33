// The life of a workflow: from its creation to its end, through pauses, failures and restarts.
#include <fstream>

#include "end_to_end/agentflow_site.h"

namespace skald::test {
namespace {

using agentflow::TaskStatus;
using agentflow::WorkflowStatus;
using agentflow::WorkStatus;

using AgentflowLife = AgentflowTest;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_P(AgentflowLife, WorksRunOneAfterTheOtherInAWorktreeOfTheirOwnWithACheckpointAfterEach) {
  const std::string id = create(add_git(), {{"echo one > new.txt", "echo two >> new.txt"}, {"cat new.txt"}});
  EXPECT_EQ(act(id, "start").status, 202);
  becomes(id, WorkflowStatus::COMPLETED);
  const auto all = works(id);
  for (const auto& work : all)
    for (const auto& task : work.tasks) EXPECT_EQ(task.outcome, RunOutcome::FINISHED) << to_json(task);
  EXPECT_EQ(call("GET", "/agentflow/works/" + all[1].id + "/tasks/1/output").body, "one\ntwo\n");
  const auto shown = show(id);
  EXPECT_EQ(text_of(shown.work_trees.at(0).path + "/new.txt"), "one\ntwo\n");
  EXPECT_EQ(text_of((folder_.path() / "repo/new.txt").string()), "");
  EXPECT_EQ(rows("SELECT COUNT(*) FROM flow_checkpoint"), 2);
  until([&] { return git(shown.git_refs[0].git_id).active_workflow_ids.empty(); }, "the git is not released");
  expect_invariants();
}

TEST_P(AgentflowLife, AFailedTaskFailsItsWorkAndItsWorkflowAndIsTriedAgainByResume) {
  const std::string id = create(add_git(), {{"[ -e " + gate() + " ] || exit 7"}, {"true"}});
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_EQ(works(id)[0].tasks[0].exit_code, 7);
  EXPECT_EQ(works(id)[1].status, WorkStatus::PENDING);
  EXPECT_NE(show(id).error.value_or("").find("exited with 7"), std::string::npos) << to_json(show(id));
  open_gate();
  EXPECT_EQ(act(id, "resume").status, 202);
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 2);
  expect_invariants();
}

TEST_P(AgentflowLife, APausedWorkflowHasNoAgentAndGoesOnWithTheTaskThatWasStopped) {
  const std::string id = create(add_git(), {{"echo done > first.out", waits_for(gate())}});
  act(id, "start");
  until([&] { return works(id)[0].tasks[1].status == TaskStatus::RUNNING; }, "the second task does not begin");
  EXPECT_EQ(act(id, "pause").status, 202);
  becomes(id, WorkflowStatus::PAUSED);
  EXPECT_EQ(json::parse(call("GET", "/agentflow/agents").body).at("running").as_array().size(), 0u);
  open_gate();
  EXPECT_EQ(act(id, "resume").status, 202);
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 1);  // what is done stays done
  EXPECT_EQ(works(id)[0].tasks[1].attempt, 2);
  expect_invariants();
}

TEST_P(AgentflowLife, ACancelledWorkflowReleasesWhatItUsedAndKeepsItsBranch) {
  const std::string git_id = add_git();
  const std::string id = create(git_id, {{waits_for(gate())}, {"true"}});
  act(id, "start");
  until([&] { return works(id)[0].tasks[0].status == TaskStatus::RUNNING; }, "the task does not begin");
  EXPECT_EQ(act(id, "cancel").status, 202);
  becomes(id, WorkflowStatus::CANCELLED);
  for (const auto& work : works(id)) EXPECT_EQ(work.status, WorkStatus::CANCELLED);
  until([&] { return git(git_id).active_workflow_ids.empty(); }, "the git is not released");
  EXPECT_NE(ask_git(*clock_, (folder_.path() / "repo").string(), {"branch", "--list", "skald/*"}), "");
  expect_invariants();
}

TEST_P(AgentflowLife, ADeletedWorkflowLeavesNothingBehind) {
  const std::string git_id = add_git();
  const std::string id = create(git_id, {{"echo x > x.txt", waits_for(gate())}});
  act(id, "start");
  until([&] { return works(id)[0].tasks[1].status == TaskStatus::RUNNING; }, "the second task does not begin");
  act(id, "pause");
  becomes(id, WorkflowStatus::PAUSED);
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
  until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the workflow is not deleted");
  expect_nothing_left();
  EXPECT_EQ(call("DELETE", "/agentflow/gits/" + git_id).status, 200);
}

TEST_P(AgentflowLife, AnAgentThatRunsWhileTheServerIsAwayIsFoundAgainAndNotStartedTwice) {
  const std::string id = create(add_git(), {{"echo begun >> count.txt; " + waits_for(gate())}, {"cat count.txt"}});
  act(id, "start");
  until([&] { return works(id)[0].tasks[0].status == TaskStatus::RUNNING; }, "the task does not begin");
  restart();
  EXPECT_EQ(show(id).status, WorkflowStatus::RUNNING);
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 1);
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[1].id + "/tasks/1/output").body, "begun\n");
}

TEST_P(AgentflowLife, AnAgentThatEndsWhileTheServerIsAwayIsHeardOfAfterwards) {
  const std::string id = create(add_git(), {{waits_for(gate()) + "; exit 3"}});
  act(id, "start");
  until([&] { return works(id)[0].tasks[0].status == TaskStatus::RUNNING; }, "the task does not begin");
  engine_->stop(1s);
  open_gate();
  restart();
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_EQ(works(id)[0].tasks[0].exit_code, 3);
}

TEST_P(AgentflowLife, ATaskMayBeCompletedByWord) {
  const std::string id = create(add_git(), {{"sleep 1000", "true"}});
  act(id, "start");
  until([&] { return works(id)[0].tasks[0].status == TaskStatus::RUNNING; }, "the task does not begin");
  EXPECT_EQ(call("POST", "/agentflow/works/" + works(id)[0].id + "/tasks/1/complete").status, 200);
  becomes(id, WorkflowStatus::COMPLETED);
  until([&] { return json::parse(call("GET", "/agentflow/agents").body).at("running").as_array().empty(); },
        "the agent is not ended");
}

TEST_P(AgentflowLife, NoMoreAgentsRunThanMayAndTheOthersWait) {
  agents_max_ = 1;
  restart();
  const std::string git_id = add_git();
  const std::string first = create(git_id, {{waits_for(gate())}}), second = create(git_id, {{"true"}});
  act(first, "start");
  until([&] { return works(first)[0].tasks[0].status == TaskStatus::RUNNING; }, "the first does not begin");
  act(second, "start");
  becomes(second, WorkflowStatus::RUNNING);
  EXPECT_EQ(works(second)[0].tasks[0].status, TaskStatus::PENDING);
  open_gate();
  becomes(first, WorkflowStatus::COMPLETED);
  becomes(second, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowLife, EveryActThatTheStateDoesNotAllowIsRefusedWithWhatIsAllowed) {
  const std::string id = create(add_git(), {{"true"}});
  for (const char* what : {"pause", "resume"}) {
    const Response answer = act(id, what);
    EXPECT_EQ(answer.status, 409) << answer.body;
    const auto problem = json::parse(answer.body);
    EXPECT_EQ(problem.at("code").as_string(), "WRONG_STATE");
    EXPECT_EQ(problem.at("state").as_string(), "CREATED");
    EXPECT_EQ(problem.at("allowed").as_array().at(0).as_string(), "start");
  }
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowLife, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
