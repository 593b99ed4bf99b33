// GET, POST /agentflow/workflows · GET, DELETE …/{id} · POST …/{id}/start, /pause, /resume, /cancel ·
// GET …/{id}/works
#include "agentflow/acts.h"
#include "agentflow/create.h"
#include "agentflow/listing.h"
#include "agentflow/usage.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

// A workflow that is being started takes its start back first; the cancellation waits for that.
void take_back_start(const Flow& flow, const std::string& id) {
  flow.db().write("take back start", [&](Transaction& tx) {
    if (workflow_named(tx, id).status != WorkflowStatus::STARTING) return;
    skald::change<Workflow>(tx, id, [](Workflow& row) { row.cancel_wanted = row.status == WorkflowStatus::STARTING; });
  });
}

// A resumption may have no body.
std::optional<WorkflowLimits> limits_of(const Request& request) {
  const auto limits = request.body.empty() ? std::nullopt : request.as<Resumption>().limits;
  if (limits) check(*limits);
  return limits;
}

void add_acts(const FlowHandle& flow, skald::Router& router) {
  skald::Database& db = flow->db();
  const auto add = [&](const std::string& name, const std::string& summary, skald::Handler handler) {
    router.act_once(db, "/agentflow/workflows/{id}/" + name, Access::admin,
                    skald::describe<void, WorkflowView>(summary, 202), std::move(handler));
  };
  add("start", "Start a workflow", [flow](const Request& request) {
    return act(*flow, request, WorkflowMove::start, flow->sagas.start, StartWorkflow{});
  });
  add("pause", "Pause a workflow: its agents are ended", [flow](const Request& request) {
    return act(*flow, request, WorkflowMove::pause, flow->sagas.pause, WorkflowWalk{});
  });
  add("resume", "Resume a workflow that was paused or has failed; {limits} gives it others",
      [flow](const Request& request) {
        return act(*flow, request, WorkflowMove::resume, flow->sagas.resume,
                   WorkflowWalk{.workflow_id = request.param("id"), .limits = limits_of(request)});
      });
  add("cancel", "Cancel a workflow", [flow](const Request& request) {
    take_back_start(*flow, request.param("id"));
    return act(*flow, request, WorkflowMove::cancel, flow->sagas.cancel, WorkflowWalk{});
  });
}

// Asked again while it goes on, or after it has gone, it has the same answer.
Response delete_workflow(const Flow& flow, const Request& request, Transaction& tx) {
  const Workflow workflow = workflow_named(tx, request.param("id"));
  if (workflow.status != WorkflowStatus::DELETING) {
    if (!allows(workflow.status, WorkflowMove::remove)) refuse(workflow.status, WorkflowMove::remove);
    flow.engine.sagas().start_in(tx, flow.sagas.remove, WorkflowWalk{.workflow_id = workflow.id},
                                 {.key = workflow.id, .traceparent = request.traceparent});
  }
  return Response::json(202, view_of(tx, workflow));
}

void add_parts(const FlowHandle& flow, skald::Router& router) {
  router.get("/agentflow/workflows/{id}/works", Access::admin,
             skald::describe<void, skald::Listing<WorkView>>("The works of a workflow, in their order"),
             [flow](const Request& request) {
               return flow->db().read_result([&](Transaction& tx) {
                 std::vector<WorkView> out;
                 for (const Work& work : works_of(tx, workflow_named(tx, request.param("id")).id))
                   out.push_back(with_usage(tx, view_of(tx, work)));
                 return Response::json(200, skald::Listing<WorkView>{std::move(out), {}});
               });
             });
}

}  // namespace

void add_workflow_paths(const FlowHandle& flow, skald::Router& router) {
  skald::Database& db = flow->db();
  router.post(db, "/agentflow/workflows", Access::admin,
              skald::describe<NewWorkflow, WorkflowView>("Create a workflow", 201),
              [flow](const Request& request, Transaction& tx) {
                return Response::json(201, create_workflow(*flow, tx, request.as<NewWorkflow>()));
              });
  add_list<Workflow, WorkflowView>(
      flow, router, "/agentflow/workflows", "Workflows, newest first", {"name", "status"},
      [](Transaction& tx, const Workflow& workflow) { return view_of(tx, workflow); },
      [](const Request& request) { skald::enum_filter<WorkflowStatus>(request, "status"); });
  router.get("/agentflow/workflows/{id}", Access::admin, skald::describe<void, WorkflowView>("A workflow"),
             [flow](const Request& request) { return shown(*flow, 200, request.param("id")); });
  router.write(db, "DELETE", "/agentflow/workflows/{id}", Access::admin,
               skald::describe<void, WorkflowView>("Delete a workflow with its worktrees and branches", 202),
               [flow](const Request& request, Transaction& tx) { return delete_workflow(*flow, request, tx); });
  add_acts(flow, router);
  add_parts(flow, router);
}

}  // namespace agentflow
