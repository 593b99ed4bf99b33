// What the founding document gets wrong, and the races that need events in an order of the test's own: each as a test.
#include <atomic>
#include <thread>

#include "agentflow/events.h"
#include "agentflow/flow.h"
#include "end_to_end/agentflow_site.h"
#include "support/built.h"

namespace skald::test {
namespace {

using agentflow::TreeEvent;
using agentflow::TreeStatus;
using agentflow::Work;
using agentflow::Workflow;
using agentflow::WorkflowStatus;
using agentflow::WorkStatus;

class AgentflowTraps : public AgentflowTest {
 protected:
  void in_one(const std::function<void(Transaction&)>& rule) { (*db_)->write("test", rule); }
  Workflow row_of(const std::string& id) {
    return (*db_)->read_result([&](Transaction& tx) { return found<Workflow>(tx, id); });
  }
  std::vector<Work> work_rows(const std::string& id) {
    return (*db_)->read_result([&](Transaction& tx) { return agentflow::works_of(tx, id); });
  }
  agentflow::TreeNotes notes(const std::string& id) {
    return agentflow::in_column<agentflow::TreeNotes>(row_of(id).work_tree_statuses);
  }
  agentflow::WorkStatuses heard(const std::string& id) {
    return agentflow::in_column<agentflow::WorkStatuses>(row_of(id).work_statuses);
  }
  boost::json::array story_of(const std::string& id) {
    return json::parse(call("GET", "/agentflow/workflows/" + id + "/story?limit=200").body).at("items").as_array();
  }
  // Where the story first says this; of that work, if one is named. 0: nowhere.
  std::size_t place_of(const boost::json::array& story, std::string_view type, const std::string& work_id = "") {
    for (std::size_t i = 0; i < story.size(); ++i) {
      const auto& payload = story[i].at("payload").as_object();
      const auto* work = payload.if_contains("workId");
      if (story[i].at("type").as_string() != type) continue;
      if (work_id.empty() || (work != nullptr && work->as_string() == work_id)) return i + 1;
    }
    return 0;
  }
  // An event is noted in the transaction that handles it.
  void until_handled(std::string_view type, std::int64_t count) {
    const std::string sql = "SELECT COUNT(*) FROM flow_history WHERE type = '" + std::string(type) + "'";
    until([&] { return rows(sql) >= count; }, "the events are not handled: " + std::string(type));
  }
  static void say_tree(Transaction& tx, const TreeEvent& event) {
    say(tx, agentflow::kTreeStatusChanged, event.workflow_id, agentflow::tree_id(event.workflow_id, event.git_id),
        event);
  }
  // Counts in the workflow's name while `others` work on the same row, until `over`; what it came to.
  int count_beside(const std::string& id, const std::vector<std::function<void()>>& others,
                   const std::function<bool()>& over) {
    in_one([&](Transaction& tx) { change<Workflow>(tx, id, [](Workflow& row) { row.name = "0"; }); });
    std::vector<std::thread> threads;
    for (const auto& other : others) threads.emplace_back(other);
    int count = 0;
    until(
        [&] {
          try {
            in_one([&](Transaction& tx) {
              change<Workflow>(tx, id, [](Workflow& row) { row.name = std::to_string(std::stoi(row.name) + 1); });
            });
            ++count;
          } catch (const Stale&) {}  // it has lost often enough to give up; nothing was written
          return over();
        },
        "the events are not handled");
    for (std::thread& thread : threads) thread.join();
    return count;
  }
};

TEST_P(AgentflowTraps, AnOlderVersionOfAWorktreeNeverWinsAndALaterChangeIsNeverDropped) {
  const std::string git_id = add_git(), id = create(git_id, {{"true"}});
  const auto say_all = [&](const std::vector<std::pair<TreeStatus, int>>& all) {
    in_one([&](Transaction& tx) {
      for (const auto& [status, version] : all) say_tree(tx, {id, git_id, status, version});
    });
  };
  say_all({{TreeStatus::READY, 5}, {TreeStatus::FAILED, 3}, {TreeStatus::PENDING, 4}});
  until_handled(agentflow::kTreeStatusChanged, 3);
  EXPECT_EQ(notes(id).at(git_id).status, TreeStatus::READY);
  EXPECT_EQ(notes(id).at(git_id).version, 5);
  say_all({{TreeStatus::RELEASING, 6}});
  until_handled(agentflow::kTreeStatusChanged, 4);
  EXPECT_EQ(notes(id).at(git_id).status, TreeStatus::RELEASING);
  say_all({{TreeStatus::FAILED, 7}, {TreeStatus::READY, 8}, {TreeStatus::FAILED, 7}});
  until_handled(agentflow::kTreeStatusChanged, 7);
  EXPECT_EQ(notes(id).at(git_id).status, TreeStatus::READY);
  in_one([&](Transaction& tx) { say_tree(tx, {id, git_id, TreeStatus::READY, 7, true}); });
  until_handled(agentflow::kTreeStatusChanged, 8);
  EXPECT_TRUE(notes(id).contains(git_id)) << "an old end took a newer worktree away";
  in_one([&](Transaction& tx) { say_tree(tx, {id, git_id, TreeStatus::RELEASING, 9, true}); });
  until_handled(agentflow::kTreeStatusChanged, 9);
  EXPECT_FALSE(notes(id).contains(git_id));
}

TEST_P(AgentflowTraps, WhatIsHeardOfTwoWorktreesAtOnceIsAllNoted) {
  constexpr int kMany = 30;
  const std::string one = add_git("one"), two = add_git("two"), id = create(one, {{"true"}});
  const auto says = [&](const std::string& git_id) {
    return [this, id, git_id] {
      for (int version = 1; version <= kMany; ++version)
        in_one([&](Transaction& tx) {
          say_tree(tx, {id, git_id, version % 2 == 0 ? TreeStatus::READY : TreeStatus::FAILED, version});
        });
    };
  };
  const int count = count_beside(id, {says(one), says(two)}, [&] {
    return rows("SELECT COUNT(*) FROM flow_history WHERE type = 'agentflow.work-tree-status-changed'") >= 2 * kMany;
  });
  EXPECT_EQ(row_of(id).name, std::to_string(count)) << "an event has undone somebody else's change";
  for (const std::string& git_id : {one, two}) EXPECT_EQ(notes(id)[git_id].version, kMany);
}

TEST_P(AgentflowTraps, WhatIsHeardOfTwoWorksAtOnceIsAllNoted) {
  constexpr int kMany = 30;
  const std::string id = create(add_git(), {{"true"}, {"true"}});
  const auto all = work_rows(id);
  const auto says = [&](Work work) {
    return [this, work]() mutable {
      for (int version = 1; version <= kMany; ++version) {
        work.status = version == kMany ? WorkStatus::COMPLETED : WorkStatus::RUNNING;
        in_one([&](Transaction& tx) { say(tx, agentflow::kWorkStatusChanged, work); });
      }
    };
  };
  const int count = count_beside(id, {says(all[0]), says(all[1])}, [&] {
    return rows("SELECT COUNT(*) FROM flow_history WHERE type = 'agentflow.work-status-changed'") >= 2 * kMany;
  });
  EXPECT_EQ(row_of(id).name, std::to_string(count)) << "an event has undone somebody else's change";
  for (const Work& work : all) EXPECT_EQ(heard(id).at(work.id), WorkStatus::COMPLETED);
}

TEST_P(AgentflowTraps, AFailedAgentFailsItsWorkAndTheWorksOwnEventFailsTheWorkflow) {
  const std::string id = create(add_git(), {{"exit 3"}});
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  const std::string work_id = works(id)[0].id;
  until([&] { return heard(id).at(work_id) == WorkStatus::FAILED; }, "the work's failure is not noted");
  until([&] { return place_of(story_of(id), agentflow::kWorkflowFailed) > 0; }, "the failure is not told");
  const auto story = story_of(id);
  const std::size_t failed = place_of(story, agentflow::kWorkflowFailed);
  EXPECT_LT(place_of(story, agentflow::kAgentError), failed);
  // One change of the workflow both noted the work's failure and failed it: none came before or behind.
  EXPECT_EQ(story[failed - 1].at("payload").at("version").to_number<std::int64_t>(), row_of(id).version);
}

TEST_P(AgentflowTraps, EventsOfWorksAreKeyedByTheirWorkflowAndHandledInTheOrderOfTheirCommits) {
  constexpr int kMany = 40;
  const std::string id = create(add_git(), {{"true"}, {"true"}});
  auto all = work_rows(id);
  for (int version = 1; version <= kMany; ++version)
    in_one([&](Transaction& tx) {
      Work& work = all[static_cast<std::size_t>(version % 2)];
      work.version = version;
      say(tx, agentflow::kWorkStatusChanged, work);
    });
  until_handled(agentflow::kWorkStatusChanged, kMany);
  std::int64_t last = 0;
  for (const auto& one : story_of(id)) {
    if (one.at("type").as_string() != agentflow::kWorkStatusChanged) continue;
    EXPECT_EQ(one.at("payload").at("version").to_number<std::int64_t>(), ++last);
  }
  const Rows kept = (*db_)->read_result([&](Transaction& tx) {
    return tx.query("SELECT key, subject FROM skald_outbox WHERE type = $1",
                    std::string(agentflow::kWorkStatusChanged));
  });
  ASSERT_EQ(kept.size(), std::size_t(kMany));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept.get<std::string>(i, 0), id);
    EXPECT_NE(kept.get<std::string>(i, 1), id);
  }
}

TEST_P(AgentflowTraps, AWorkBeginsOnlyAfterTheCheckpointOfTheOneBefore) {
  const std::string id = create(add_git(), {{"echo one > one.txt"}, {"echo two > two.txt"}});
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  until([&] { return place_of(story_of(id), agentflow::kWorkflowCompleted) > 0; }, "the end is not told");
  const auto all = works(id);
  const auto story = story_of(id);
  const std::size_t kept = place_of(story, agentflow::kCheckpointCreated);
  EXPECT_LT(place_of(story, agentflow::kWorkCompleted, all[0].id), kept);
  EXPECT_LT(kept, place_of(story, agentflow::kWorkStarted, all[1].id));
  const auto checkpoint =
      (*db_)->read_result([&](Transaction& tx) { return found<agentflow::Checkpoint>(tx, all[0].id); });
  const auto commits = agentflow::in_column<std::vector<agentflow::TreeCommit>>(checkpoint.commits);
  EXPECT_EQ(ask_git(*clock_, (folder_.path() / "repo").string(), {"ls-tree", "--name-only", commits.at(0).commit}),
            "first.txt\none.txt");
}

TEST_P(AgentflowTraps, AnAgentThatIsAnnouncedWhenItsWorkNoLongerRunsIsEnded) {
  const std::string id = create(add_git(), {{"true"}});
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  const std::string work_id = works(id)[0].id, run = work_id + ".1.7";
  const auto agents =
      agentflow::supervised_agents(*clock_, (folder_.path() / "flow/runs").string(), {built::kSupervisor, "agent-run"});
  agents->start({.id = run,
                 .argv = {"sh", "-c", waits_for(gate())},
                 .folder = folder_.path().string(),
                 .variables = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}},
                 .timeout = 90s});
  in_one([&](Transaction& tx) {
    say(tx, agentflow::kAgentStarted, work_id, work_id, agentflow::TaskEvent{id, work_id, 1, run, {}});
  });
  until([&] { return agents->look(run).has_value() && agents->look(run)->end.has_value(); }, "the agent runs on");
  open_gate();
}

TEST_P(AgentflowTraps, AnAgentsFailureThatComesLateChangesNoWorkThatHasEnded) {
  const std::string id = create(add_git(), {{"true"}});
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  const std::string work_id = works(id)[0].id;
  in_one([&](Transaction& tx) {
    say(tx, agentflow::kAgentError, work_id, work_id, agentflow::TaskEvent{id, work_id, 1, work_id + ".1.1", "late"});
  });
  until_handled(agentflow::kAgentError, 1);
  EXPECT_EQ(works(id)[0].status, WorkStatus::COMPLETED);
  EXPECT_EQ(show(id).status, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowTraps, AWorkThatFailsWhenItsWorkflowIsCancelledDoesNotFailIt) {
  const std::string id = create(add_git(), {{"true"}});
  EXPECT_EQ(act(id, "cancel").status, 202);
  becomes(id, WorkflowStatus::CANCELLED);
  Work work = work_rows(id).at(0);
  work.status = WorkStatus::FAILED;
  const std::int64_t before = rows("SELECT COUNT(*) FROM flow_history WHERE type = 'agentflow.work-status-changed'");
  in_one([&](Transaction& tx) { say(tx, agentflow::kWorkStatusChanged, work); });
  until([&] { return heard(id).at(work.id) == WorkStatus::FAILED; }, "the event is not handled");
  until_handled(agentflow::kWorkStatusChanged, before + 1);
  EXPECT_EQ(show(id).status, WorkflowStatus::CANCELLED);
}

TEST_P(AgentflowTraps, TemplatesLoseTheReferenceToAGitThatIsDeletedAndKeepTheOthers) {
  const std::string gone = add_git("gone"), kept = add_git("kept");
  std::vector<std::string> templates;
  for (const char* name : {"first", "second"}) {
    const Response answer =
        call("POST", "/agentflow/templates",
             R"({"name":")" + std::string(name) + R"(","gitRefs":[{"gitId":")" + gone + R"("},{"gitId":")" + kept +
                 R"("}],"works":[{"name":"one","tasks":[{"prompt":"true"}]}]})");
    ASSERT_EQ(answer.status, 201) << answer.body;
    templates.push_back(from_json<agentflow::TemplateView>(answer.body).id);
  }
  ASSERT_EQ(call("DELETE", "/agentflow/gits/" + gone).status, 200);
  for (const std::string& id : templates) {
    const auto refs = [&] {
      return from_json<agentflow::TemplateView>(call("GET", "/agentflow/templates/" + id).body).git_refs;
    };
    until([&] { return refs().size() == 1; }, "the template still names the git");
    EXPECT_EQ(refs().at(0).git_id, kept);
  }
}

TEST_P(AgentflowTraps, AGitWhoseWorktreeAnEndedWorkflowHasLeftIsNotDeleted) {
  const std::string git_id = add_git(), id = create(git_id, {{"true"}});
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  until([&] { return git(git_id).active_workflow_ids.empty(); }, "the git is not released");
  const Response refused = call("DELETE", "/agentflow/gits/" + git_id);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(flow_problem(refused), "IN_USE");
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowTraps, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
