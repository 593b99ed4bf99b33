// Checkpoints by hand, and the way back to one: over all worktrees of a workflow, whole or not at all.
#include <algorithm>

#include "agentflow/checkpoints.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

void refuse_unless_allowed(Local& step, const std::string& workflow_id, WorkflowMove how) {
  const Workflow workflow = skald::found<Workflow>(step.tx(), workflow_id);
  if (!allows(workflow.status, how)) refuse(workflow.status, how);
}

void begin_checkpoint(Local& step, TakeCheckpoint& taking) {
  refuse_unless_allowed(step, taking.workflow_id, WorkflowMove::checkpoint);
  taking.trees = ready_trees(step.tx(), taking.workflow_id);
}

std::vector<TreeCommit> commits_to_restore(Local& step, const RestoreWorkflow& restore) {
  const auto checkpoint = step->find<Checkpoint>(restore.checkpoint_id);
  if (!checkpoint || checkpoint->workflow_id != restore.workflow_id)
    throw skald::Refused("CHECKPOINT_NOT_FOUND", "the workflow has no checkpoint with this id");
  return in_column<std::vector<TreeCommit>>(checkpoint->commits);
}

// The checkpoint of a work that has just ended is of what the work left, not of what is restored over it.
void refuse_before_checkpoints(Local& step, const std::string& workflow_id) {
  for (const Work& work : works_of(step.tx(), workflow_id))
    if (work.status == WorkStatus::COMPLETED && !step->find<Checkpoint>(work.id))
      throw skald::Busy("CHECKPOINT_PENDING", "the checkpoint of work " + work.name + " is being taken: try again");
}

void begin_restore(Local& step, RestoreWorkflow& restore) {
  refuse_unless_allowed(step, restore.workflow_id, WorkflowMove::restore);
  refuse_before_checkpoints(step, restore.workflow_id);
  restore.trees = ready_trees(step.tx(), restore.workflow_id);
  for (const TreeCommit& one : commits_to_restore(step, restore))
    if (std::ranges::find(restore.trees, one.git_id, &TreePlan::git_id) == restore.trees.end())
      throw skald::Refused("NO_TREE", "the workflow has no worktree any more of git " + one.git_id);
  skald::change<Workflow>(step.tx(), restore.workflow_id, [&](Workflow& row) { row.saga_id = step.saga_id(); });
}

// From here on nothing that lay in the worktrees can be lost.
void keep_safety(Local& step, RestoreWorkflow& restore) {
  keep_checkpoint(step.tx(), {.id = restore.safety_id,
                              .workflow_id = restore.workflow_id,
                              .work_id = {},
                              .commits = commits_of(restore.trees),
                              .created_at = step->now()});
  restore.restores.clear();
  for (const TreeCommit& one : commits_to_restore(step, restore)) {
    const TreePlan& tree = *std::ranges::find(restore.trees, one.git_id, &TreePlan::git_id);
    restore.restores.push_back({tree.repository, tree.path, tree.branch, tree.commit, one.commit});
  }
}

void put_back(Repositories& repositories, const TreeRestore& tree, const std::string& commit) {
  repositories.restore_checkpoint({tree.repository, tree.path, tree.branch}, commit);
}

}  // namespace

skald::Saga<TakeCheckpoint> checkpoint_saga(const OutsideHandle& outside) {
  return skald::Saga<TakeCheckpoint>("agentflow.checkpoint")
      .local("begin", begin_checkpoint)
      .nothing_to_undo()
      .holds("workflow", &TakeCheckpoint::workflow_id, skald::exclusive, skald::wait_up_to(60s))
      .reads("workflow")
      .commit()
      .each("take checkpoint", &TakeCheckpoint::trees,
            [outside](Remote&, TakeCheckpoint& taking, TreePlan& tree) {
              ask_git([&] { take_checkpoint(*outside, taking.workflow_id, taking.checkpoint_id, tree); });
            })
      .undo(&TakeCheckpoint::trees,
            [outside](Remote&, TakeCheckpoint& taking, TreePlan& tree) {
              outside->options.repositories->drop_checkpoints(tree.repository,
                                                              taking.workflow_id + "/" + taking.checkpoint_id);
            })
      .timeout(120s)
      .local("keep checkpoint",
             [](Local& step, TakeCheckpoint& taking) {
               keep_checkpoint(step.tx(), {.id = taking.checkpoint_id,
                                           .workflow_id = taking.workflow_id,
                                           .work_id = {},
                                           .commits = commits_of(taking.trees),
                                           .created_at = step->now()});
             })
      .nothing_to_undo()
      .writes("checkpoint", Guard::idempotency_key);
}

skald::Saga<RestoreWorkflow> restore_saga(const OutsideHandle& outside) {
  return skald::Saga<RestoreWorkflow>("agentflow.restore")
      .local("begin", begin_restore)
      .nothing_to_undo()
      .holds("workflow", &RestoreWorkflow::workflow_id, skald::exclusive, skald::wait_up_to(60s))
      .writes("workflow", Guard::optimistic)
      .reads("checkpoint")
      .commit()
      .each("take safety checkpoint", &RestoreWorkflow::trees,
            [outside](Remote&, RestoreWorkflow& restore, TreePlan& tree) {
              ask_git([&] { take_checkpoint(*outside, restore.workflow_id, restore.safety_id, tree); });
            })
      .nothing_to_undo()  // it is kept whatever becomes of the rest
      .timeout(120s)
      .local("keep safety checkpoint", keep_safety)
      .nothing_to_undo()
      .writes("checkpoint", Guard::idempotency_key)
      .commit()
      .each("restore", &RestoreWorkflow::restores,
            [outside](Remote&, RestoreWorkflow&, TreeRestore& tree) {
              Repositories& repositories = *outside->options.repositories;
              change_by_git([&] { put_back(repositories, tree, tree.commit); },
                            [&] { put_back(repositories, tree, tree.safety); });
            })
      .undo(&RestoreWorkflow::restores,
            [outside](Remote&, RestoreWorkflow&, TreeRestore& tree) {
              put_back(*outside->options.repositories, tree, tree.safety);
            })
      .timeout(120s);
}

}  // namespace agentflow
