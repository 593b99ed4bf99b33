// GET /agentflow/invariants: what must hold at any time, from the tables as they stand.
#include "agentflow/flow.h"
#include "skald/checklist.h"

namespace agentflow {
namespace {

using skald::Transaction;

// Of a workflow that has its resources. Release follows the end of one by an event, so the ended are left out.
constexpr std::string_view kHolding = "('READY', 'RUNNING', 'PAUSING', 'PAUSED', 'RESUMING', 'FAILED')";

skald::Invariants check_all(Transaction& tx) {
  skald::Checklist list;
  std::vector<std::string> unregistered, strangers;
  std::map<std::string, Ids> users;
  for (const Git& git : tx.select<Git>("ORDER BY id")) users[git.id] = in_column<Ids>(git.active_workflow_ids);
  for (const Workflow& workflow : tx.select<Workflow>("WHERE status IN " + std::string(kHolding) + " ORDER BY id"))
    for (const GitRef& ref : in_column<std::vector<GitRef>>(workflow.git_refs))
      if (std::ranges::find(users[ref.git_id], workflow.id) == users[ref.git_id].end())
        unregistered.push_back(workflow.id);
  for (const auto& [git, ids] : users)
    for (const std::string& id : ids)
      if (!tx.find<Workflow>(id)) strangers.push_back(git + " by " + id);
  list.none("workflows are registered at their gits", unregistered, "workflows that use a git unregistered");
  list.none("gits are used by workflows that exist", strangers, "gits that are kept by workflows that are gone");
  list.nobody("worktrees belong to workflows", tx,
              "SELECT id FROM flow_work_tree WHERE workflow_id NOT IN (SELECT id FROM flow_workflow)",
              "worktrees of workflows that are gone");
  list.nobody("works belong to workflows", tx,
              "SELECT id FROM flow_work WHERE workflow_id NOT IN (SELECT id FROM flow_workflow)",
              "works of workflows that are gone");
  list.nobody("worktrees of works belong to works", tx,
              "SELECT id FROM flow_work_tree WHERE work_id IS NOT NULL AND work_id NOT IN (SELECT id FROM flow_work)",
              "worktrees of works that are gone");
  list.nobody("ports belong to workflows", tx,
              "SELECT CAST(port AS TEXT) FROM flow_port WHERE workflow_id NOT IN (SELECT id FROM flow_workflow)",
              "ports of workflows that are gone");
  list.nobody("workflows have the ports that they want", tx,
              "SELECT id FROM flow_workflow w WHERE status IN " + std::string(kHolding) +
                  " AND ports <> (SELECT COUNT(*) FROM flow_port p WHERE p.workflow_id = w.id)",
              "workflows with other ports than they want");
  list.nobody("works that run at once are of one group", tx,
              "SELECT workflow_id FROM flow_work WHERE status = 'RUNNING' GROUP BY workflow_id HAVING COUNT(*) > 1 "
              "AND (COUNT(base_checkpoint) < COUNT(*) OR COUNT(DISTINCT base_checkpoint) > 1)",
              "workflows with several running works");
  list.nobody(
      "a checkpoint stands between two works", tx,
      "SELECT later.id FROM flow_work later JOIN flow_work earlier ON earlier.workflow_id = later.workflow_id "
      "AND earlier.position = later.position - 1 WHERE later.status <> 'PENDING' AND later.status <> 'CANCELLED' "
      "AND (later.base_checkpoint IS NULL OR later.base_checkpoint <> COALESCE(earlier.base_checkpoint, '')) "
      "AND NOT EXISTS (SELECT 1 FROM flow_checkpoint c WHERE c.id = "
      "CASE WHEN earlier.base_checkpoint IS NULL THEN earlier.id ELSE earlier.joined_checkpoint END)",
      "works that began without the checkpoint of the one before");
  return list.take();
}

}  // namespace

void add_invariants(const FlowHandle& flow, skald::Router& router) {
  router.get("/agentflow/invariants", skald::Access::admin,
             skald::describe<void, skald::Invariants>("What must hold of workflows"), [flow](const skald::Request&) {
               return flow->db().read_result([](Transaction& tx) { return skald::Response::json(200, check_all(tx)); });
             });
}

}  // namespace agentflow
