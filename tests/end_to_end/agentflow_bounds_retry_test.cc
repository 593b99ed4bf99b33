// A task whose machine went down is run again, on worktrees as they were when it began; and how many run at once.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "end_to_end/agentflow_bounds_site.h"

namespace skald::test {
namespace {

using agentflow::TaskStatus;
using agentflow::WorkflowStatus;

class AgentflowRetry : public AgentflowBoundsTest {
 protected:
  std::string file_of(const std::string& id, const std::string& name) {
    std::ifstream file(show(id).work_trees.at(0).path + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // As a machine that goes down: supervisor and agent at once, unasked.
  void kill_agent(const std::string& work_id, int task) {
    const std::string run = work_id + "." + std::to_string(task) + ".1";
    const auto folder = folder_.path() / "flow/runs" / run;
    pid_t supervisor = 0;
    std::ifstream(folder / "supervised") >> supervisor;
    const auto agents = json::parse(call("GET", "/agentflow/agents").body).at("running").as_array();
    ASSERT_GT(supervisor, 1);
    ASSERT_EQ(agents.size(), 1u);
    kill(supervisor, SIGKILL);
    kill(-static_cast<pid_t>(agents[0].at("pid").as_int64()), SIGKILL);
  }
  // The second task writes, waits to be killed, and says what it finds when it is run again.
  std::string interrupt_second_task(const std::string& agent) {
    const std::string id = create(add_git(),
                                  {{"echo kept > first.out; exit",
                                    "cat half.out 2>/dev/null && exit; echo half > half.out; echo changed > first.txt; "
                                    "git add -A; git -c user.name=t -c user.email=t@example.invalid commit -qm half; "
                                    "[ -e " +
                                        gate() + " ] && exit; touch " + gate("begun") + "; exec sleep 1000"}},
                                  R"("agent":")" + agent + R"(",)");
    act(id, "start");
    until([&] { return std::filesystem::exists(gate("begun")); }, "the second task does not begin");
    open_gate();
    kill_agent(works(id)[0].id, 2);
    becomes(id, WorkflowStatus::COMPLETED);
    EXPECT_EQ(works(id)[0].tasks[1].attempt, 2);
    return id;
  }
};

TEST_P(AgentflowRetry, AnInterruptedTaskFindsWhatWasThereWhenItBegan) {
  const std::string id = interrupt_second_task("shell");
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[0].id + "/tasks/2/output").body, "");
  EXPECT_EQ(file_of(id, "first.out"), "kept\n");  // of the task before it
  const std::string tree = show(id).work_trees.at(0).path;
  EXPECT_EQ(ask_git(*clock_, tree, {"rev-list", "--count", "main..HEAD"}), "1");  // the first try's commit is gone
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowRetry, APresetMayWantWhatTheInterruptedRunHasLeft) {
  presets_["priced"].restore_before_retry = false;
  restart();
  const std::string id = interrupt_second_task("priced");
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[0].id + "/tasks/2/output").body, "half\n");
}

TEST_P(AgentflowRetry, ATaskWhoseRunCannotBeMadeFailsWithTheReasonAndIsResumed) {
  const std::string id = create(add_git(), {{"true"}});
  const auto runs = folder_.path() / "flow/runs", aside = folder_.path() / "flow/aside";
  std::filesystem::rename(runs, aside);
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_NE(show(id).error.value_or("").find("RUNS_FOLDER"), std::string::npos) << to_json(show(id));
  std::filesystem::rename(aside, runs);
  act(id, "resume");
  becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowRetry, TheScriptedAgentWorksFailsOnceAndIsResumed) {
  const std::string id =
      create(add_git(), {{"write note.txt one\ncommit a note\ncost 0.5\nfail-once 3\nappend note.txt two\nsay done"}},
             R"("agent":"scripted",)");
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_EQ(works(id)[0].tasks[0].exit_code, 3);
  act(id, "resume");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(file_of(id, "note.txt"), "one\ntwo\n");
  EXPECT_EQ(show(id).cost, 1);
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[0].id + "/tasks/1/output").body, "cost: 0.5\ndone\n");
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowRetry, NoMoreAgentsRunInARepositoryOrOnAMachineThanMay) {
  for (const bool machine : {true, false}) {
    options_.agents_per_machine = machine ? 1 : 0;
    options_.agents_per_repository = machine ? 0 : 1;
    restart();
    const std::string way = gate(machine ? "machine" : "repository");
    const std::string git_id = add_git(machine ? "one" : "two");
    const std::string first = create(git_id, {{waits_for(way)}}), second = create(git_id, {{"true"}});
    act(first, "start");
    until([&] { return agents_running() == 1; }, "the first does not begin");
    act(second, "start");
    until(
        [&] {
          return rows("SELECT COUNT(*) FROM skald_saga WHERE type = 'agentflow.task' AND status = 'WAITING'") == 1;
        },
        "the second does not wait");
    EXPECT_EQ(works(second)[0].tasks[0].status, TaskStatus::PENDING);
    open_gate(machine ? "machine" : "repository");
    becomes(first, WorkflowStatus::COMPLETED);
    becomes(second, WorkflowStatus::COMPLETED);
  }
}

TEST_P(AgentflowRetry, AnAgentIsShownWithItsWorkflowItsPresetAndItsMemory) {
  const std::string id = create(add_git(), {{waits_for(gate())}});
  act(id, "start");
  until([&] { return agents_running() == 1; }, "the agent does not begin");
  const auto agent = json::parse(call("GET", "/agentflow/agents").body).at("running").as_array().at(0).as_object();
  EXPECT_EQ(agent.at("workflowId").as_string(), id);
  EXPECT_EQ(agent.at("agent").as_string(), "shell");
  EXPECT_GT(agent.at("memoryBytes").as_int64(), 100'000);
  EXPECT_LT(agent.at("memoryBytes").as_int64(), 100'000'000);
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowRetry, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
