// Before works of a group begin: a checkpoint of the workflow's worktrees, and for each work worktrees of its own that
// look exactly so, with what is not committed. Works that begin later in the same group start from the same checkpoint.
#include <filesystem>

#include "agentflow/checkpoints.h"
#include "agentflow/events.h"
#include "agentflow/trees.h"
#include "agentflow/work_groups.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

void look_at_group(Local& step, BranchWorks& branch) {
  branch.trees.clear(), branch.branches.clear(), branch.error.reset();
  const Workflow workflow = skald::found<Workflow>(step.tx(), branch.workflow_id);
  const std::vector<Work> group = works_in_turn(works_as_noted(step.tx(), workflow));
  const auto begun = std::ranges::find_if(group, [](const Work& work) { return work.base_checkpoint.has_value(); });
  branch.checkpoint_id = begun == group.end() ? group.at(0).id + ".before" : *begun->base_checkpoint;
  if (!step->find<Checkpoint>(branch.checkpoint_id)) branch.trees = ready_trees(step.tx(), workflow.id);
}

// What git refuses fails the workflow; it is tried again when that is resumed.
template <class Call>
std::optional<std::string> refusal_of(Call&& call) {
  try {
    ask_git(call);
    return std::nullopt;
  } catch (const skald::Refused& refused) {
    return refused.code() + ": " + refused.what();
  }
}

void take_base(const Outside& outside, BranchWorks& branch, TreePlan& tree) {
  if (branch.error) return;
  const auto why = refusal_of([&] { take_checkpoint(outside, branch.workflow_id, branch.checkpoint_id, tree); });
  if (why) branch.error = "there is no checkpoint of git " + tree.git_id + " to branch off from: " + *why;
}

void keep_base(Local& step, BranchWorks& branch) {
  if (branch.error || branch.trees.empty()) return;
  keep_checkpoint(step.tx(), {.id = branch.checkpoint_id,
                              .workflow_id = branch.workflow_id,
                              .work_id = {},
                              .commits = commits_of(branch.trees),
                              .created_at = step->now()});
}

TreePlan branch_of(const Outside& outside, const Work& work, const WorkTree& own, const std::string& commit) {
  const std::string name = std::filesystem::path(own.path).filename().string();
  return {.git_id = own.git_id,
          .repository = own.repository,
          .path = outside.space_of(work.workflow_id) + "/" + work.id + "/" + name,
          .branch = own.branch + "-" + std::to_string(work.position),
          .base_branch = own.base_branch,
          .base = commit,
          .work_id = work.id};
}

// Of the repositories that the checkpoint has and the workflow still works on.
void plan_branches(const Outside& outside, Local& step, BranchWorks& branch, Use& use) {
  const auto base = step->find<Checkpoint>(branch.checkpoint_id);
  if (branch.error || !base) return;
  const Work work =
      skald::change<Work>(step.tx(), use.id, [&](Work& row) { row.base_checkpoint = branch.checkpoint_id; });
  for (const TreeCommit& one : in_column<std::vector<TreeCommit>>(base->commits)) {
    const auto own = step->find<WorkTree>(tree_id(work.workflow_id, one.git_id));
    if (!own || own->status != TreeStatus::READY) continue;
    if (step->find<WorkTree>(tree_id(work.workflow_id, one.git_id, work.id))) continue;
    WorkTree row = row_of(work.workflow_id, branch_of(outside, work, *own, one.commit));
    row.base = one.commit;
    step->insert(row);
  }
}

void list_branches(Local& step, BranchWorks& branch) {
  branch.branches.clear();
  if (branch.error) return;
  for (const WorkTree& tree : trees_of(step.tx(), branch.workflow_id)) {
    const bool wanted = tree.work_id && std::ranges::find(branch.works, *tree.work_id, &Use::id) != branch.works.end();
    if (wanted && tree.status != TreeStatus::READY) branch.branches.push_back(plan_of(tree));
  }
}

// Nobody works there yet: however often it is done, the end is the checkpoint as it was, HEAD and all.
void try_to_branch(const Outside& outside, TreePlan& plan) {
  plan.error = refusal_of([&] {
    add_tree(outside, plan);
    outside.options.repositories->restore_checkpoint({plan.repository, plan.path, plan.branch}, plan.base);
  });
}

void note_branch(Local& step, BranchWorks& branch, TreePlan& plan) {
  const WorkTree tree =
      skald::change<WorkTree>(step.tx(), tree_id(branch.workflow_id, plan.git_id, plan.work_id), [&](WorkTree& row) {
        row.status = plan.error ? TreeStatus::FAILED : TreeStatus::READY;
        row.error = plan.error;
      });
  if (plan.error) branch.error = "the worktree of git " + plan.git_id + " cannot be made for a work: " + *plan.error;
  say(step.tx(), plan.error ? kTreeStatusChanged : kTreeCreated, tree);
}

}  // namespace

skald::Saga<BranchWorks> branch_saga(const OutsideHandle& outside) {
  return skald::Saga<BranchWorks>("agentflow.branch")
      .local("look", look_at_group)
      .holds("workflow", &BranchWorks::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .reads("workflow")
      .commit()
      .each("take checkpoint", &BranchWorks::trees,
            [outside](Remote&, BranchWorks& branch, TreePlan& tree) { take_base(*outside, branch, tree); })
      .timeout(120s)
      .local("keep checkpoint", keep_base)
      .writes("checkpoint", Guard::idempotency_key)
      .commit()
      .each("plan worktrees", &BranchWorks::works,
            [outside](Local& step, BranchWorks& branch, Use& use) { plan_branches(*outside, step, branch, use); })
      .writes("work", Guard::optimistic)
      .writes("workflow", Guard::optimistic)  // its worktrees
      .commit()
      .local("list worktrees", list_branches)
      .reads("workflow")
      .commit()
      .each("add worktree", &BranchWorks::branches,
            [outside](Remote&, BranchWorks&, TreePlan& plan) { try_to_branch(*outside, plan); })
      .timeout(120s)
      .each("note worktree", &BranchWorks::branches, note_branch)
      .writes("workflow", Guard::optimistic)
      .commit()
      .forward_only();
}

}  // namespace agentflow
