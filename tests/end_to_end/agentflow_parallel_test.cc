// Works side by side: they really run at once, each in worktrees of its own, and come back in their order.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "end_to_end/agentflow_site.h"

namespace skald::test {
namespace {

using agentflow::AgentStatus;
using agentflow::ModificationStatus;
using agentflow::WorkflowStatus;
using agentflow::WorkStatus;
using testing::HasSubstr;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AgentflowParallel : public AgentflowTest {
 protected:
  struct Part {
    std::string script, group;
  };

  std::string create_parts(const std::vector<Part>& parts) {
    agentflow::NewWorkflow asked{.name = "flow", .git_refs = std::vector<agentflow::GitRef>{{add_git(), {}}}};
    asked.works.emplace();
    for (const Part& part : parts) {
      agentflow::NewWork work{.name = "work " + std::to_string(asked.works->size() + 1),
                              .tasks = {{part.script, {}}},
                              .mcp_server_refs = {},
                              .wants_report = {}};
      if (!part.group.empty()) work.parallel = part.group;
      asked.works->push_back(work);
    }
    const Response answer = call("POST", "/agentflow/workflows", to_json(asked));
    EXPECT_EQ(answer.status, 201) << answer.body;
    return from_json<agentflow::WorkflowView>(answer.body).id;
  }
  std::string start_parts(const std::vector<Part>& parts) {
    const std::string id = create_parts(parts);
    EXPECT_EQ(act(id, "start").status, 202);
    return id;
  }
  void until_running(const std::string& id, const std::vector<std::size_t>& which) {
    until(
        [&] {
          const auto all = works(id);
          return std::ranges::all_of(which, [&](std::size_t n) { return all[n].agent_status == AgentStatus::RUNNING; });
        },
        "the works do not run at once");
  }
  std::string own_file(const std::string& id, const std::string& name) { return *show(id).space + "/repo/" + name; }
  // In the worktree of one work.
  std::string file_of(const std::string& id, std::size_t n, const std::string& name) {
    return *show(id).space + "/" + works(id)[n].id + "/repo/" + name;
  }
  void expect_only_own_worktree(const std::string& id) {
    EXPECT_EQ(show(id).work_trees.size(), 1U);
    for (const auto& work : works(id)) EXPECT_FALSE(std::filesystem::exists(*show(id).space + "/" + work.id));
    EXPECT_EQ(ask_git(*clock_, repository(), {"for-each-ref", "--format=%(refname)", "refs/heads/skald/"}),
              "refs/heads/skald/" + id);
  }
  void remove(const std::string& id) {
    EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
    until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the workflow is not deleted");
    expect_nothing_left();
    EXPECT_EQ(json::parse(call("GET", "/agentflow/agents").body).at("running").as_array().size(), 0U);
  }
  std::string repository() const { return (folder_.path() / "repo").string(); }
};

TEST_P(AgentflowParallel, WorksOfAGroupRunAtOnceAndWhatTheyDidIsThereForTheNextWork) {
  const auto meets = [&](const std::string& own, const std::string& other) {
    return "touch " + gate(own) + "; " + waits_for(gate(other)) + "; cat before.txt; echo " + own + " > " + own +
           ".txt";
  };
  const std::string id = start_parts({{"echo earlier > before.txt", ""},
                                      {meets("a", "b"), "team"},
                                      {meets("b", "c"), "team"},
                                      {meets("c", "a"), "team"},
                                      {"cat a.txt b.txt c.txt before.txt", ""}});
  becomes(id, WorkflowStatus::COMPLETED);
  const auto all = works(id);
  EXPECT_EQ(call("GET", "/agentflow/works/" + all[4].id + "/tasks/1/output").body, "a\nb\nc\nearlier\n");
  EXPECT_EQ(call("GET", "/agentflow/works/" + all[2].id + "/tasks/1/output").body, "earlier\n");
  EXPECT_EQ(all[1].parallel, "team");
  expect_only_own_worktree(id);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM flow_checkpoint WHERE id = '" + all[3].id + ".joined'"), 1);
  const std::string changes = call("GET", "/agentflow/workflows/" + id + "/diff?work=" + all[2].id).body;
  EXPECT_THAT(changes, HasSubstr("b.txt"));
  EXPECT_THAT(changes, testing::Not(HasSubstr("before.txt"))) << "it was there when the group began";
  expect_invariants();
  remove(id);
}

TEST_P(AgentflowParallel, ChangesOfOneFileComeTogetherWhereTheyDoNotTouch) {
  std::ofstream(repository() + "/first.txt") << "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  ask_git(*clock_, repository(), {"commit", "-qam", "longer"});
  const std::string id =
      start_parts({{"sed -i s/1/one/ first.txt", "g"},
                   {"sed -i s/9/nine/ first.txt; git -c user.name=a -c user.email=a@b commit -qam x", "g"},
                   {"rm -f none; sed -i s/5/five/ first.txt", "g"}});
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(file_text(own_file(id, "first.txt")), "one\n2\n3\n4\nfive\n6\n7\n8\nnine\n");
  EXPECT_EQ(ask_git(*clock_, *show(id).space + "/repo", {"rev-parse", "HEAD"}),
            ask_git(*clock_, repository(), {"rev-parse", "main"}))
      << "the workflow's branch stays where it was";
  expect_only_own_worktree(id);
  expect_invariants();
}

TEST_P(AgentflowParallel, AConflictIsToldWithItsFilesAndResumingAfterARepairJoinsThem) {
  const std::string id = start_parts({{"echo left > first.txt; echo l > left.txt", "g"},
                                      {"echo right > first.txt; echo r > right.txt", "g"},
                                      {"cat first.txt left.txt right.txt", ""}});
  becomes(id, WorkflowStatus::FAILED);
  const std::string error = show(id).error.value_or("");
  EXPECT_THAT(error, HasSubstr("JOIN_CONFLICTS"));
  EXPECT_THAT(error, HasSubstr("work 2"));
  EXPECT_THAT(error, HasSubstr("first.txt"));
  EXPECT_EQ(file_text(own_file(id, "first.txt")), "first\n") << "nothing has moved";
  EXPECT_FALSE(std::filesystem::exists(own_file(id, "left.txt")));
  const auto first_join = show(id).saga_id;
  EXPECT_EQ(act(id, "resume").status, 202);
  until([&] { return show(id).saga_id != first_join && show(id).status == WorkflowStatus::FAILED; },
        "it does not fail again");
  for (const std::size_t n : {0U, 1U}) std::ofstream(file_of(id, n, "first.txt")) << "both\n";
  EXPECT_EQ(act(id, "resume").status, 202);
  becomes(id, WorkflowStatus::COMPLETED);
  const auto all = works(id);
  EXPECT_EQ(call("GET", "/agentflow/works/" + all[2].id + "/tasks/1/output").body, "both\nl\nr\n");
  EXPECT_EQ(all[0].tasks[0].attempt, 1) << "no work runs again for a conflict";
  expect_only_own_worktree(id);
  expect_invariants();
  remove(id);
}

TEST_P(AgentflowParallel, AConflictedGroupIsDeletedWithAllOfItsWorktrees) {
  const std::string id = start_parts({{"echo left > first.txt", "g"}, {"echo right > first.txt", "g"}});
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_EQ(show(id).work_trees.size(), 3U);
  remove(id);
}

TEST_P(AgentflowParallel, OneThatFailsLeavesTheOthersToTheirEndAndIsTheOnlyOneThatRunsAgain) {
  const std::string id = start_parts({{waits_for(gate("slow")) + "; echo a > a.txt", "g"},
                                      {"[ -e " + gate() + " ] || exit 3; echo b > b.txt", "g"},
                                      {"cat a.txt b.txt", ""}});
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_EQ(works(id)[0].status, WorkStatus::RUNNING);
  open_gate("slow");
  until([&] { return works(id)[0].status == WorkStatus::COMPLETED; }, "the other does not come to its end");
  expect_invariants();
  open_gate();
  EXPECT_EQ(act(id, "resume").status, 202);
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 1);
  EXPECT_EQ(works(id)[1].tasks[0].attempt, 2);
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[2].id + "/tasks/1/output").body, "a\nb\n");
  expect_invariants();
}

TEST_P(AgentflowParallel, AResumptionWhileAnotherStillRunsBeginsOnlyTheOneThatFailed) {
  const std::string id = start_parts(
      {{waits_for(gate("slow")) + "; echo a > a.txt", "g"}, {"[ -e " + gate() + " ] || exit 3; echo b > b.txt", "g"}});
  becomes(id, WorkflowStatus::FAILED);
  open_gate();
  EXPECT_EQ(act(id, "resume").status, 202);
  until([&] { return works(id)[1].status == WorkStatus::COMPLETED; }, "the failed one does not run again");
  EXPECT_EQ(show(id).status, WorkflowStatus::RUNNING);
  open_gate("slow");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 1);
  EXPECT_EQ(file_text(own_file(id, "a.txt")) + file_text(own_file(id, "b.txt")), "a\nb\n");
}

TEST_P(AgentflowParallel, APausedGroupGoesOnInItsOwnWorktreesWithThoseThatWereStopped) {
  const std::string id = start_parts({{"echo a > a.txt", "g"},
                                      {"echo x >> b.txt; " + waits_for(gate()), "g"},
                                      {"echo x >> c.txt; " + waits_for(gate()), "g"}});
  until([&] { return works(id)[0].status == WorkStatus::COMPLETED; }, "the first does not come to its end");
  until_running(id, {1, 2});
  until([&] { return file_text(file_of(id, 1, "b.txt")) == "x\n" && file_text(file_of(id, 2, "c.txt")) == "x\n"; },
        "the agents do not write");
  EXPECT_EQ(act(id, "pause").status, 202);
  becomes(id, WorkflowStatus::PAUSED);
  EXPECT_EQ(json::parse(call("GET", "/agentflow/agents").body).at("running").as_array().size(), 0U);
  expect_invariants();
  open_gate();
  EXPECT_EQ(act(id, "resume").status, 202);
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 1);
  EXPECT_EQ(file_text(own_file(id, "b.txt")) + file_text(own_file(id, "c.txt")), "x\nx\nx\nx\n");
  expect_only_own_worktree(id);
  expect_invariants();
}

TEST_P(AgentflowParallel, AServerThatIsKilledMeanwhileFindsAllOfThemAgain) {
  const std::string id = start_parts({{"echo a >> a.txt; " + waits_for(gate()), "g"},
                                      {"echo b >> b.txt; " + waits_for(gate()), "g"},
                                      {"cat a.txt b.txt", ""}});
  until_running(id, {0, 1});
  restart();
  EXPECT_EQ(show(id).status, WorkflowStatus::RUNNING);
  engine_->stop(1s);
  open_gate();
  restart();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[2].id + "/tasks/1/output").body, "a\nb\n");
  for (const auto& work : works(id)) EXPECT_EQ(work.tasks[0].attempt, 1);
  expect_only_own_worktree(id);
}

TEST_P(AgentflowParallel, AGroupInWhichOneRunsOnIsDeletedWithItsAgents) {
  const std::string id = start_parts({{waits_for(gate()), "g"}, {"exit 3", "g"}});
  becomes(id, WorkflowStatus::FAILED);
  until_running(id, {0});
  remove(id);
}

TEST_P(AgentflowParallel, AGroupThatIsPausedOrCancelledIsDeletedWithAllThatItMade) {
  const std::string paused = start_parts({{waits_for(gate()), "g"}, {waits_for(gate()), "g"}});
  until_running(paused, {0, 1});
  act(paused, "pause");
  becomes(paused, WorkflowStatus::PAUSED);
  act(paused, "cancel");
  becomes(paused, WorkflowStatus::CANCELLED);
  for (const auto& work : works(paused)) EXPECT_EQ(work.status, WorkStatus::CANCELLED);
  EXPECT_EQ(show(paused).work_trees.size(), 3U);
  expect_invariants();
  remove(paused);
}

TEST_P(AgentflowParallel, AWorkThatIsAddedToARunningGroupStartsFromTheSameCheckpoint) {
  const std::string id = start_parts({{waits_for(gate()) + "; echo a > a.txt", "g"}});
  until_running(id, {0});
  EXPECT_EQ(
      call("PATCH", "/agentflow/workflows/" + id,
           R"({"works":[{"name":"late","tasks":[{"prompt":"test ! -e a.txt; echo l > late.txt"}],"parallel":"g"},)"
           R"({"name":"after","tasks":[{"prompt":"cat a.txt late.txt"}]}]})")
          .status,
      202);
  until([&] { return show(id).modification->status == ModificationStatus::DONE; }, "the change does not end");
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[2].id + "/tasks/1/output").body, "a\nl\n");
  expect_only_own_worktree(id);
  expect_invariants();
}

TEST_P(AgentflowParallel, ARepositoryThatIsTakenOutMeanwhileGoesWithTheWorktreesOfTheWorks) {
  const std::string other = (folder_.path() / "second").string();
  make_repository(*clock_, other);
  const Response added = call("POST", "/agentflow/gits", R"({"name":"two","path":")" + other + R"("})");
  const std::string two = from_json<agentflow::GitView>(added.body).id;
  const std::string id = create_parts({{waits_for(gate()) + "; echo a > a.txt; echo a > ../two/a.txt", "g"},
                                       {waits_for(gate()) + "; echo b > b.txt", "g"},
                                       {"cat a.txt b.txt; test ! -e ../two", ""}});
  const std::string one = show(id).git_refs[0].git_id;
  const auto change = [&](const std::string& refs) {
    EXPECT_EQ(call("PATCH", "/agentflow/workflows/" + id, R"({"gitRefs":[)" + refs + "]}").status, 202);
    until([&] { return show(id).modification->status == ModificationStatus::DONE; }, "the change does not end");
  };
  change(R"({"gitId":")" + one + R"("},{"gitId":")" + two + R"("})");
  act(id, "start");
  until_running(id, {0, 1});
  EXPECT_EQ(show(id).work_trees.size(), 6U);
  change(R"({"gitId":")" + one + R"("})");
  EXPECT_EQ(show(id).work_trees.size(), 6U) << "they are in use";
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  expect_only_own_worktree(id);
  EXPECT_EQ(ask_git(*clock_, other, {"for-each-ref", "--format=%(refname)"}), "refs/heads/main");
  EXPECT_EQ(call("DELETE", "/agentflow/gits/" + two).status, 200);
}

TEST_P(AgentflowParallel, AGroupNameThatIsNoneIsRefused) {
  const std::string body = R"({"name":"f","gitRefs":[{"gitId":")" + add_git() +
                           R"("}],"works":[{"name":"w","tasks":[{"prompt":"true"}],"parallel":""}]})";
  EXPECT_EQ(flow_problem(call("POST", "/agentflow/workflows", body)), "BAD_PARALLEL");
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowParallel, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
