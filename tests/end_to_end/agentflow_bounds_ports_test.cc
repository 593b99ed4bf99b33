// Ports of workflows: given once, handed to agents, freed at the end.
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "end_to_end/agentflow_bounds_site.h"

namespace skald::test {
namespace {

using agentflow::Ports;
using agentflow::WorkflowStatus;

class AgentflowBoundsPorts : public AgentflowBoundsTest {
 protected:
  AgentflowBoundsPorts() {
    options_.ports = {23'000, 23'003};
    options_.is_port_free = [](int) { return true; };
    restart();
  }

  std::string create_with_ports(int n, const std::string& script = "true") {
    return create(git_, {{script}}, R"("ports":)" + std::to_string(n) + ",");
  }
  // Runs until the gate is opened.
  std::string begin_with_ports(int n) {
    const std::string id = create_with_ports(n, "echo $SKALD_PORT_1 ${SKALD_PORT_2-none}; " + waits_for(gate()));
    act(id, "start");
    until([&] { return output(id).ends_with('\n'); }, "the agent says nothing");
    return id;
  }
  std::string output(const std::string& id) {
    return call("GET", "/agentflow/works/" + works(id)[0].id + "/tasks/1/output").body;
  }
  void is_refused(const std::string& id) {
    until([&] { return show(id).status == WorkflowStatus::CREATED && show(id).error; }, "the start is not refused");
    EXPECT_TRUE(tells(show(id).error, "NO_PORTS")) << to_json(show(id));
    EXPECT_EQ(show(id).port_numbers, Ports{});
    expect_invariants();
  }
  std::int64_t ports_given() { return rows("SELECT COUNT(*) FROM flow_port"); }

  std::string git_ = add_git();
};

TEST_P(AgentflowBoundsPorts, AgentsFindThePortsOfTheirWorkflowAndNoOtherHasThem) {
  const std::string one = begin_with_ports(2), other = begin_with_ports(1);
  EXPECT_EQ(output(one), "23000 23001\n");
  EXPECT_EQ(output(other), "23002 none\n");
  EXPECT_EQ(show(one).port_numbers, (Ports{23'000, 23'001}));
  EXPECT_EQ(show(one).ports, 2);
  restart();
  EXPECT_EQ(show(other).port_numbers, Ports{23'002});
  expect_invariants();
  open_gate();
  becomes(one, WorkflowStatus::COMPLETED);
  becomes(other, WorkflowStatus::COMPLETED);
  until([&] { return ports_given() == 0; }, "ports are kept by workflows that have ended");
  expect_invariants();
}

TEST_P(AgentflowBoundsPorts, AStartThatFindsTooFewTakesItselfBackAndWorksLater) {
  const std::string first = begin_with_ports(3), second = create_with_ports(2);
  act(second, "start");
  is_refused(second);
  EXPECT_EQ(git(git_).active_workflow_ids, agentflow::Ids{first});
  EXPECT_EQ(ports_given(), 3);
  open_gate();
  becomes(first, WorkflowStatus::COMPLETED);
  until([&] { return ports_given() == 0; }, "the ports are not freed");
  act(second, "start");
  becomes(second, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowBoundsPorts, AStartThatFailsBehindItsPortsGivesThemBack) {
  const std::string id = create(git_, {{"true"}}, R"("ports":2,)");
  std::filesystem::create_directories(folder_.path() / "flow");
  std::ofstream(folder_.path() / "flow/spaces") << "no folder can be made below a file\n";
  act(id, "start");
  until([&] { return show(id).status == WorkflowStatus::CREATED && show(id).error; }, "the start does not fail");
  EXPECT_EQ(ports_given(), 0);
  std::filesystem::remove(folder_.path() / "flow/spaces");
  expect_invariants();
}

TEST_P(AgentflowBoundsPorts, WorkflowsThatStartAtOnceNeverShareOne) {
  options_.ports = {23'000, 23'011};
  restart();
  std::vector<std::string> all;
  for (int i = 0; i < 6; ++i) all.push_back(create_with_ports(2, waits_for(gate())));
  std::vector<std::thread> starters;
  for (const std::string& id : all) starters.emplace_back([this, id] { act(id, "start"); });
  for (std::thread& starter : starters) starter.join();
  std::set<std::int64_t> given;
  for (const std::string& id : all) {
    becomes(id, WorkflowStatus::RUNNING);
    for (const std::int64_t port : show(id).port_numbers) given.insert(port);
  }
  EXPECT_EQ(given.size(), 12U);
  expect_invariants();
  open_gate();
  for (const std::string& id : all) becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowBoundsPorts, APortThatSomethingElseListensOnIsPassedOver) {
  options_.is_port_free = [](int port) { return port != 23'000 && port != 23'002; };
  restart();
  EXPECT_EQ(output(begin_with_ports(2)), "23001 23003\n");
}

TEST_P(AgentflowBoundsPorts, WhatIsCancelledOrDeletedHasNoneAnyMore) {
  const std::string cancelled = begin_with_ports(2), paused = begin_with_ports(2);
  act(cancelled, "cancel");
  becomes(cancelled, WorkflowStatus::CANCELLED);
  until([&] { return ports_given() == 2; }, "a workflow that is cancelled keeps its ports");
  act(paused, "pause");
  becomes(paused, WorkflowStatus::PAUSED);
  EXPECT_EQ(show(paused).port_numbers, (Ports{23'002, 23'003}));
  expect_invariants();
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + cancelled).status, 202);
  until([&] { return call("GET", "/agentflow/workflows/" + cancelled).status == 404; }, "it is not deleted");
  delete_and_expect_nothing_left(paused);
}

TEST_P(AgentflowBoundsPorts, AServerWithoutARangeHasNone) {
  options_.ports = {};
  restart();
  const std::string id = create_with_ports(1);
  act(id, "start");
  is_refused(id);
  EXPECT_TRUE(tells(show(id).error, "set agentflow.ports")) << to_json(show(id));
}

TEST_P(AgentflowBoundsPorts, ATemplateSaysHowManyAndAWorkflowOfItMaySayOtherwise) {
  const std::string plan =
      R"(,"gitRefs":[{"gitId":")" + git_ + R"("}],"works":[{"name":"w","tasks":[{"prompt":"true"}]}]})";
  const Response kept = call("POST", "/agentflow/templates", R"({"name":"often","ports":3)" + plan);
  const std::string id = from_json<agentflow::TemplateView>(kept.body).id;
  const auto made = [&](const std::string& more) {
    return from_json<agentflow::WorkflowView>(
        call("POST", "/agentflow/workflows", R"({"name":"flow","templateId":")" + id + R"(")" + more + "}").body);
  };
  EXPECT_EQ(made("").ports, 3);
  EXPECT_EQ(made(R"(,"ports":1)").ports, 1);
  for (const char* wrong : {"-1", "17"}) {
    const Response answer =
        call("POST", "/agentflow/workflows", R"({"name":"flow","ports":)" + std::string(wrong) + plan);
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_EQ(flow_problem(answer), "BAD_PORTS");
  }
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowBoundsPorts, testing::Values(Dialect::sqlite, Dialect::postgres),
                         flow_database);

}  // namespace
}  // namespace skald::test
