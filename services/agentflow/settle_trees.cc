// Making the worktrees of a workflow what its refs say: those that no ref names any more go, those that are missing are
// made. Never while a work runs: they may be in use.
#include "agentflow/checkpoints.h"
#include "agentflow/events.h"
#include "agentflow/trees.h"
#include "agentflow/use.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

bool has_worktrees(WorkflowStatus status) {
  using S = WorkflowStatus;
  return status == S::READY || status == S::RUNNING || status == S::RESUMING || status == S::PAUSED ||
         status == S::FAILED;
}

void look_at_trees(Local& step, SettleTrees& settle) {
  settle.releases.clear(), settle.additions.clear();
  const auto workflow = step->find<Workflow>(settle.workflow_id);
  if (!workflow || workflow->status == WorkflowStatus::DELETING || has_running_work(step.tx(), workflow->id)) return;
  for (const WorkTree& tree : trees_of(step.tx(), workflow->id)) {
    if (!refers_to(*workflow, tree.git_id)) settle.releases.push_back(plan_of(tree));
    else if (!tree.work_id && tree.status != TreeStatus::READY && has_worktrees(workflow->status))
      settle.additions.push_back(plan_of(tree));
  }
}

void forget_tree(Local& step, SettleTrees& settle, TreePlan& plan) {
  const auto row = step->find<WorkTree>(tree_id(settle.workflow_id, plan.git_id, plan.work_id));
  if (!row) return;
  step->execute("DELETE FROM flow_work_tree WHERE id = $1", row->id);
  say(step.tx(), kTreeStatusChanged, *row, true);
}

// What git refuses is the worktree's failure, and the next work's to tell: it is tried again before that begins.
void try_to_add(const Outside& outside, TreePlan& plan) {
  plan.error.reset();
  try {
    ask_git([&] { add_tree(outside, plan); });
  } catch (const skald::Refused& refused) {
    plan.error = refused.code() + ": " + refused.what();
  }
}

void note_tree(Local& step, SettleTrees& settle, TreePlan& plan) {
  const WorkTree tree =
      skald::change<WorkTree>(step.tx(), tree_id(settle.workflow_id, plan.git_id), [&](WorkTree& row) {
        row.status = plan.error ? TreeStatus::FAILED : TreeStatus::READY;
        row.error = plan.error;
        if (!plan.error) row.base = plan.base;
      });
  say(step.tx(), plan.error ? kTreeStatusChanged : kTreeCreated, tree);
}

}  // namespace

skald::Saga<SettleTrees> settle_saga(const OutsideHandle& outside) {
  return skald::Saga<SettleTrees>("agentflow.settle")
      .local("look", look_at_trees)
      .holds("workflow", &SettleTrees::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .reads("workflow")
      .commit()
      .each(
          "remove worktree", &SettleTrees::releases,
          [outside](Remote&, SettleTrees& settle, TreePlan& plan) { remove_tree(*outside, settle.workflow_id, plan); })
      .timeout(120s)
      .each("forget worktree", &SettleTrees::releases, forget_tree)
      .writes("workflow", Guard::optimistic)
      .commit()
      // Not before its worktree is gone: whoever deletes the Git then finds nothing in use.
      .each("release git", &SettleTrees::releases,
            [](Local& step, SettleTrees& settle, TreePlan& plan) {
              release_use<Git>(step.tx(), settle.workflow_id, plan.git_id, "release git");
            })
      .writes("git", Guard::commutative)
      .commit()
      .each("add worktree", &SettleTrees::additions,
            [outside](Remote&, SettleTrees&, TreePlan& plan) { try_to_add(*outside, plan); })
      .timeout(120s)
      .each("note worktree", &SettleTrees::additions, note_tree)
      .writes("workflow", Guard::optimistic)
      .commit()
      .forward_only();
}

}  // namespace agentflow
