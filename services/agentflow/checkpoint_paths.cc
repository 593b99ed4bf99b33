// GET, POST /agentflow/workflows/{id}/checkpoints · POST …/checkpoints/{checkpoint}/restore
#include "agentflow/acts.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

// The effect's id is the checkpoint's, and that of the safety checkpoint of a restoration.
auto is_kept(const Request& request) {
  return [id = request.effect_id](Transaction& tx) { return tx.find<Checkpoint>(id).has_value(); };
}

Response restore(const Flow& flow, const Request& request) {
  const std::string& checkpoint_id = request.param("checkpoint");
  flow.db().read([&](Transaction& tx) {
    const Workflow workflow = workflow_named(tx, request.param("id"));
    const auto checkpoint = tx.find<Checkpoint>(checkpoint_id);
    if (!checkpoint || checkpoint->workflow_id != workflow.id)
      throw skald::NotFound("CHECKPOINT_NOT_FOUND", "the workflow has no checkpoint with this id");
  });
  return act_each(flow, request, WorkflowMove::restore, flow.sagas.restore,
                  RestoreWorkflow{.workflow_id = "", .checkpoint_id = checkpoint_id, .safety_id = request.effect_id},
                  is_kept(request));
}

}  // namespace

void add_checkpoint_paths(const FlowHandle& flow, skald::Router& router) {
  skald::Database& db = flow->db();
  router.get(
      "/agentflow/workflows/{id}/checkpoints", Access::admin,
      skald::describe<void, skald::Listing<CheckpointView>>("The checkpoints of a workflow, oldest first"),
      [flow](const Request& request) {
        return flow->db().read_result([&](Transaction& tx) {
          std::vector<CheckpointView> out;
          const std::string id = workflow_named(tx, request.param("id")).id;
          for (const Checkpoint& one : tx.select<Checkpoint>("WHERE workflow_id = $1 ORDER BY created_at, id", id))
            out.push_back(view_of(one));
          return Response::json(200, skald::Listing<CheckpointView>{std::move(out), {}});
        });
      });
  router.act_once(db, "/agentflow/workflows/{id}/checkpoints", Access::admin,
                  skald::describe<void, WorkflowView>("Take a checkpoint of all worktrees of a workflow", 202),
                  [flow](const Request& request) {
                    return act_each(*flow, request, WorkflowMove::checkpoint, flow->sagas.checkpoint,
                                    TakeCheckpoint{.workflow_id = "", .checkpoint_id = request.effect_id},
                                    is_kept(request));
                  });
  router.act_once(db, "/agentflow/workflows/{id}/checkpoints/{checkpoint}/restore", Access::admin,
                  skald::describe<void, WorkflowView>(
                      "Put all worktrees back to a checkpoint; what is there now is kept as one", 202),
                  [flow](const Request& request) { return restore(*flow, request); });
}

}  // namespace agentflow
