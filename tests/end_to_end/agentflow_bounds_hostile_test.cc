// Agents that mean no good: each is bounded, told of, and leaves nothing when its workflow is deleted.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "end_to_end/agentflow_bounds_site.h"

namespace skald::test {
namespace {

using agentflow::WorkflowStatus;

class AgentflowHostile : public AgentflowBoundsTest {
 protected:
  // A workflow of that one task, to its end.
  std::string run_to(WorkflowStatus status, const std::string& script, const std::string& agent = "shell") {
    const std::string id = create(add_git(), {{script}, {"true"}}, R"("agent":")" + agent + R"(",)");
    act(id, "start");
    becomes(id, status);
    return id;
  }
  pid_t number_in(const std::string& name) const {
    pid_t out = 0;
    std::ifstream(gate(name)) >> out;
    return out;
  }
  void expect_ended(const std::string& name) {
    const pid_t pid = number_in(name);
    ASSERT_GT(pid, 1);
    until([&] { return kill(pid, 0) != 0; }, "a process of the agent still lives");
  }
  std::string output_of(const std::string& id) {
    return call("GET", "/agentflow/works/" + works(id)[0].id + "/tasks/1/output").body;
  }
};

TEST_P(AgentflowHostile, ChildrenThatLeaveTheSessionEndWithTheirAgent) {
  const std::string id = run_to(WorkflowStatus::COMPLETED, "setsid sh -c 'echo $$ > " + gate("child") +
                                                               "; exec sleep 1000' & " + waits_for(gate("child")));
  expect_ended("child");
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowHostile, AnAgentThatIgnoresToBeEndedIsKilled) {
  const std::string id =
      create(add_git(), {{"trap '' TERM INT HUP; echo $$ > " + gate("agent") + "; while :; do sleep 0.1; done"}});
  act(id, "start");
  until([&] { return number_in("agent") > 1; }, "the agent does not begin");
  act(id, "cancel");
  becomes(id, WorkflowStatus::CANCELLED);
  expect_ended("agent");
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowHostile, AnAgentThatEndsWhileItsChildHoldsItsOutputOpenIsNotWaitedFor) {
  const std::string id =
      run_to(WorkflowStatus::COMPLETED, "echo said; sleep 1000 & echo $! > " + gate("child") + "; exit 0");
  EXPECT_EQ(output_of(id), "said\n");
  expect_ended("child");
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowHostile, OutputWithoutEndOrNewlineIsKeptUpToItsBoundAndReadInPieces) {
  presets_["priced"].output_max = 3 << 20;
  restart();
  const std::string id =
      run_to(WorkflowStatus::COMPLETED, "head -c 200000000 /dev/zero | tr '\\0' x; echo cost: 7; exit", "priced");
  std::uintmax_t on_disk = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder_.path() / "flow/runs"))
    if (file.is_regular_file()) on_disk += file.file_size();
  EXPECT_LT(on_disk, 4u << 20);
  EXPECT_LE(output_of(id).size(), 1u << 20);
  EXPECT_GT(works(id)[0].tasks[0].output_lost.value_or(0), 0) << to_json(works(id)[0]);
  EXPECT_EQ(show(id).cost, std::nullopt);  // it stood beyond what is kept
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowHostile, AnAgentThatDeletesItsWorktreeFailsItsWorkflowOrTheNextTask) {
  const std::string id = create(add_git(), {{"rm -rf \"$PWD\"", "true"}}, "");
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_TRUE(show(id).error.has_value());
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowHostile, AnAgentThatDeletesTheGitFileOfItsWorktreeIsInNobodysWay) {
  const std::string id = create(add_git(), {{"rm -f .git; echo more > more.txt", "true"}}, "");
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_NE(call("GET", "/agentflow/workflows/" + id + "/diff").body.find("more.txt"), std::string::npos);
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowHostile, ASpaceThatBecameASymbolicLinkHarmsNothingBehindIt) {
  const std::filesystem::path other = folder_.path() / "other";
  std::filesystem::create_directory(other);
  std::ofstream(other / "precious") << "kept\n";
  const std::string id =
      create(add_git(), {{"cd /; rm -rf \"$SKALD_SPACE\"; ln -s " + other.string() + " \"$SKALD_SPACE\"", "true"}}, "");
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  delete_and_expect_nothing_left(id);
  EXPECT_TRUE(std::filesystem::exists(other / "precious"));
}

TEST_P(AgentflowHostile, AnAgentSeesNoVariableThatItIsNotGiven) {
  setenv("SKALD_TEST_HIDDEN", "a secret of the server", 1);
  const std::string id = run_to(WorkflowStatus::COMPLETED, "env");
  EXPECT_EQ(output_of(id).find("a secret of the server"), std::string::npos) << output_of(id);
  EXPECT_NE(output_of(id).find("SKALD_SPACE="), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowHostile, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
