// PATCH /agentflow/workflows/{id}
#include <set>

#include "agentflow/acts.h"
#include "agentflow/create.h"
#include "skald/id.h"

namespace agentflow {
namespace {

using skald::Request;
using skald::Response;
using skald::Transaction;

// One of those that have not run yet, by its id and with what is to change of it; or a new one.
struct WorkChange {
  std::optional<std::string> id, name;
  std::optional<std::vector<NewTask>> tasks;
  std::optional<Ids> mcp_server_refs;
  std::optional<bool> wants_report;
  std::optional<std::string> parallel;  // empty: in no group any more
};
BOOST_DESCRIBE_STRUCT(WorkChange, (), (id, name, tasks, mcp_server_refs, wants_report, parallel))

// What is not named stays. Lists are whole: what is not in them goes.
struct WorkflowChange {
  std::optional<std::string> name, agent;
  std::optional<std::vector<GitRef>> git_refs;
  std::optional<std::vector<WorkChange>> works;
};
BOOST_DESCRIBE_STRUCT(WorkflowChange, (), (name, agent, git_refs, works))

std::vector<PlannedWork> planned(const Flow& flow, Transaction& tx, const std::vector<WorkChange>& works) {
  std::vector<PlannedWork> out;
  std::set<std::string> named;
  for (const WorkChange& work : works) {
    if (!work.id && (!work.name || !work.tasks))
      throw skald::Invalid("BAD_WORKS", "a new work has a name and tasks; one that is to stay is named by its id");
    if (work.id && !named.insert(*work.id).second)
      throw skald::Invalid("BAD_WORKS", "works name each work once; " + *work.id + " stands there twice");
    out.push_back({.id = work.id ? *work.id : skald::make_id(tx.now(), flow.env.random),
                   .is_new = !work.id,
                   .name = work.name,
                   .tasks = work.tasks,
                   .mcp_server_refs = work.mcp_server_refs,
                   .wants_report = work.wants_report,
                   .parallel = work.parallel});
  }
  return out;
}

// As a new workflow's plan would be checked: what stays unnamed stands in for itself.
void check_change(const Flow& flow, Transaction& tx, const Workflow& workflow, const WorkflowChange& change) {
  if (change.name) check_name(*change.name);
  Plan plan{.agent = change.agent,
            .git_refs = change.git_refs.value_or(in_column<std::vector<GitRef>>(workflow.git_refs)),
            .works = {}};
  for (const WorkChange& work : change.works.value_or(std::vector<WorkChange>{}))
    plan.works.push_back({.name = work.name.value_or("same"),
                          .tasks = work.tasks.value_or(std::vector<NewTask>{{"same", {}}}),
                          .mcp_server_refs = work.mcp_server_refs,
                          .wants_report = work.wants_report,
                          .parallel = work.parallel == "" ? std::nullopt : work.parallel});
  if (plan.works.empty()) plan.works.push_back({"same", {{"same", {}}}, {}, {}});
  check(plan);
  refuse_unknown(tx, plan);
  refuse_unknown_agents(flow, plan);
}

bool is_being_modified(const Workflow& workflow) {
  return workflow.modification &&
         skald::from_json<ModificationNote>(*workflow.modification).status == ModificationStatus::RUNNING;
}

Response modify(const Flow& flow, const Request& request, Transaction& tx) {
  const Workflow workflow = workflow_named(tx, request.param("id"));
  const auto change = request.as<WorkflowChange>();
  if (!allows(workflow.status, WorkflowMove::modify)) refuse(workflow.status, WorkflowMove::modify);
  check_change(flow, tx, workflow, change);
  if (is_being_modified(workflow))
    throw skald::Refused("MODIFICATION_RUNS", "another change of this workflow is under way: wait until it is through");
  ModifyWorkflow state{
      .workflow_id = workflow.id, .name = change.name, .agent = change.agent, .git_refs = change.git_refs};
  if (change.works) state.works = planned(flow, tx, *change.works);
  const skald::Started started =
      flow.engine.sagas().start_in(tx, flow.sagas.modify, std::move(state), {.traceparent = request.traceparent});
  const Workflow now = skald::change<Workflow>(tx, workflow.id, [&](Workflow& row) {
    row.modification = skald::to_json(ModificationNote{started.id, ModificationStatus::RUNNING, {}});
  });
  return Response::json(202, view_of(tx, now));
}

}  // namespace

void add_modify_path(const FlowHandle& flow, skald::Router& router) {
  router.write(flow->db(), "PATCH", "/agentflow/workflows/{id}", skald::Access::admin,
               skald::describe<WorkflowChange, WorkflowView>(
                   "Change a workflow: its repositories, and the works that have not run yet", 202),
               [flow](const Request& request, Transaction& tx) { return modify(*flow, request, tx); });
}

}  // namespace agentflow
