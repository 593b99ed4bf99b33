// Limits of cost and time: warned of, then kept, over restarts too.
#include <future>

#include "agentflow/record.h"
#include "end_to_end/agentflow_bounds_site.h"

namespace skald::test {
namespace {

using agentflow::TaskStatus;
using agentflow::WorkflowStatus;

using AgentflowBounds = AgentflowBoundsTest;

TEST_P(AgentflowBounds, CostIsShownOfTaskWorkAndWorkflow) {
  const std::string id =
      create_priced({{"echo cost: 9; echo cost: 0.1", "echo cost: 0.2"}, {"printf 'cost: 0.4'", "sleep 0.01"}}, "{}");
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  const auto all = works(id);
  EXPECT_EQ(all[0].tasks[0].cost, 0.1);
  EXPECT_EQ(all[0].cost, 0.3);
  EXPECT_EQ(all[1].cost, 0.4);
  EXPECT_EQ(all[1].tasks[1].cost, std::nullopt);
  EXPECT_EQ(show(id).cost, 0.7);
  EXPECT_GT(show(id).seconds, 0);
  EXPECT_EQ(show(id).warning, std::nullopt);
}

// Noted beside the deletion of its workflow, which stands still at the work then, and comes behind it.
TEST_P(AgentflowBounds, WhatARunHasUsedGoesWithItsWorkflow) {
  const std::string id = create_priced({{"true"}}, "{}");
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  const std::string work = works(id)[0].id;
  standstill_.at("git remove_tree");
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
  standstill_.until_there();
  const auto waits = [this] {
    return rows("SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE%'") > 0;
  };
  (**db_).write("note usage", [&](Transaction& tx) {
    ASSERT_TRUE(tx.find_locked<agentflow::Work>(work));
    tx.execute(
        "INSERT INTO flow_usage (run, workflow_id, work_id, task, milliseconds, version) VALUES ($1, $2, $3, 1, 1, 1)",
        work + ".1.9", id, work);
    standstill_.go_on();
    if (GetParam() == Dialect::sqlite) return;  // one writer at a time: it waits for this one
    std::async(std::launch::async, [&] { until(waits, "the deletion does not wait"); }).get();
  });
  until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "it is not deleted");
  expect_nothing_left();
}

TEST_P(AgentflowBounds, AnAgentThatReachesTheLimitOfCostIsStoppedAndResumedWithAHigherOne) {
  const std::string id =
      create_priced({{"echo cost: 6; [ -e " + gate() + " ] || exec sleep 1000", "true"}}, R"({"costMax":5})");
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_TRUE(tells(show(id).error, "LIMIT_REACHED")) << to_json(show(id));
  EXPECT_TRUE(tells(show(id).error, "cost 6 of the 5")) << to_json(show(id));
  until([&] { return agents_running() == 0; }, "the agent is not stopped");
  EXPECT_EQ(works(id)[0].tasks[1].attempt, 0);
  EXPECT_EQ(flow_problem(act(id, "resume")), "LIMIT_REACHED");
  open_gate();
  resume_with(id, R"({"costMax":20})");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(show(id).cost, 12);  // of both runs
  expect_invariants();
  delete_and_expect_nothing_left(id);
}

TEST_P(AgentflowBounds, NoTaskBeginsOnceTheLimitIsReached) {
  const std::string id = create_priced({{"printf 'cost: 5'"}, {"true"}}, R"({"costMax":5})");
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_EQ(works(id)[0].status, agentflow::WorkStatus::COMPLETED);
  EXPECT_EQ(works(id)[1].tasks[0].attempt, 0);
  EXPECT_TRUE(tells(works(id)[1].error, "LIMIT_REACHED")) << to_json(works(id));
  resume_with(id, R"({"costMax":0})");
  becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowBounds, AWarningComesOnceBeforeTheStop) {
  const std::string id =
      create_priced({{"echo cost: 4", "echo cost: 0.2", waits_for(gate())}}, R"({"costMax":5,"warnAtPercent":75})");
  act(id, "start");
  until([&] { return works(id)[0].tasks[2].status == TaskStatus::RUNNING; }, "the third task does not begin");
  EXPECT_TRUE(tells(show(id).warning, "cost 4 of the 5")) << to_json(show(id));
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM skald_outbox WHERE type = 'agentflow.workflow-near-limit'"), 1);
}

TEST_P(AgentflowBounds, TheTimeThatAgentsRunIsBoundedAlsoOverARestart) {
  const std::string id = create_priced({{"exec sleep 1000"}}, R"({"secondsMax":2})");
  act(id, "start");
  until([&] { return agents_running() == 1; }, "the agent does not begin");
  restart();
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_TRUE(tells(show(id).error, "LIMIT_REACHED")) << to_json(show(id));
  EXPECT_TRUE(tells(show(id).error, "of the 2 seconds")) << to_json(show(id));
  EXPECT_TRUE(show(id).warning.has_value());
  until([&] { return agents_running() == 0; }, "the agent is not stopped");
}

TEST_P(AgentflowBounds, ATaskMayHaveALimitOfItsAgent) {
  presets_["priced"].cost_max = 2;
  restart();
  const std::string id = create_priced({{"echo cost: 3; exec sleep 1000"}}, "{}");
  act(id, "start");
  becomes(id, WorkflowStatus::FAILED);
  EXPECT_TRUE(tells(show(id).error, "cost_max")) << to_json(show(id));
  until([&] { return agents_running() == 0; }, "the agent is not stopped");
}

TEST_P(AgentflowBounds, TheServersLimitCountsForAWorkflowThatHasNone) {
  options_.cost_max = 1;
  restart();
  const std::string bounded = create_priced({{"echo cost: 1"}, {"true"}}, "{}");
  act(bounded, "start");
  becomes(bounded, WorkflowStatus::FAILED);
  EXPECT_TRUE(tells(show(bounded).error, "cost 1 of the 1")) << to_json(show(bounded));
}

TEST_P(AgentflowBounds, LimitsThatMakeNoSenseAreRefused) {
  const std::string git = add_git();
  for (const char* limits : {R"({"costMax":-1})", R"({"costMax":1e300})", R"({"secondsMax":-1})",
                             R"({"warnAtPercent":0})", R"({"warnAtPercent":101})"}) {
    const std::string plan = R"({"name":"flow","gitRefs":[{"gitId":")" + git +
                             R"("}],"works":[{"name":"w","tasks":[{"prompt":"true"}]}],"limits":)" + limits + "}";
    const Response answer = call("POST", "/agentflow/workflows", plan);
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_EQ(flow_problem(answer), "BAD_LIMITS") << limits;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowBounds, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
