// The end of a group: what its works did, brought into the workflow's worktrees in their order. Conflicts of all works and
// repositories are found before anything changes; then all worktrees change or none. What fails fails the workflow, and
// the works keep their worktrees: a resumption joins what lies in them then.
#include <filesystem>

#include "agentflow/checkpoints.h"
#include "agentflow/events.h"
#include "agentflow/trees.h"
#include "agentflow/work_groups.h"
#include "skald/checklist.h"
#include "skald/text.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

constexpr std::size_t kConflictsToldMax = 4'000;  // bytes

bool has_tree_of(const std::vector<TreePlan>& trees, const std::string& git_id) {
  return std::ranges::find(trees, git_id, &TreePlan::git_id) != trees.end();
}

// Since the group was found complete, the workflow may have been paused, or have got another work for it.
void begin_join(Local& step, JoinWorks& join) {
  join = {.workflow_id = join.workflow_id};
  const auto workflow = step->find<Workflow>(join.workflow_id);
  if (!workflow || workflow->status != WorkflowStatus::RUNNING) return;
  const std::vector<Work> group = works_in_turn(works_as_noted(step.tx(), *workflow));
  if (!can_be_joined(step.tx(), group)) return;
  join.safety_id = step.saga_id();
  join.joined_id = group.back().id + ".joined";
  join.trees = ready_trees(step.tx(), workflow->id);
  const std::vector<WorkTree> trees = trees_of(step.tx(), workflow->id);
  for (const Work& work : group) {
    join.works.push_back({work.id});
    for (const WorkTree& tree : trees) {
      if (tree.work_id != work.id) continue;
      join.removals.push_back(plan_of(tree));
      if (tree.status == TreeStatus::READY && has_tree_of(join.trees, tree.git_id))
        join.branches.push_back({work.name, plan_of(tree)});
    }
  }
  skald::change<Workflow>(step.tx(), workflow->id, [&](Workflow& row) { row.saga_id = step.saga_id(); });
}

void fail_join(Local& step, JoinWorks& join) {
  if (join.works.empty() || !step->find<Workflow>(join.workflow_id)) return;
  const auto why = step.context().failure;
  fail_workflow(step.tx(), join.workflow_id,
                why ? why->code + ": " + why->message : "the join of its works was given up by an operator");
}

// What lies in the work's worktree now; its own checkpoint may be older than a repair.
std::string taken_of(const JoinWorks& join, const TreePlan& tree) { return join.safety_id + "." + *tree.work_id; }

void drop_taken(const Outside& outside, const JoinWorks& join, const TreePlan& tree, const std::string& checkpoint_id) {
  outside.options.repositories->drop_checkpoints(tree.repository, join.workflow_id + "/" + checkpoint_id);
}

// From here on nothing that lay in the worktrees can be lost.
void keep_before_join(Local& step, JoinWorks& join) {
  keep_checkpoint(step.tx(), {.id = join.safety_id,
                              .workflow_id = join.workflow_id,
                              .work_id = {},
                              .commits = commits_of(join.trees),
                              .created_at = step->now()});
  join.results.clear();
  for (const TreePlan& tree : join.trees)
    join.results.push_back({tree.repository, tree.path, tree.branch, tree.commit, tree.commit});
}

// A work that does not fit is left out for the moment, so that the conflicts of those behind it are found, too.
void merge_works(Repositories& repositories, JoinWorks& join, TreeRestore& result) {
  result.commit = result.safety;
  for (WorkBranch& branch : join.branches) {
    if (branch.tree.repository != result.repository) continue;
    MergedCommit merged =
        repositories.merge_commits(result.repository, branch.tree.base, result.commit, branch.tree.commit);
    branch.conflicts = std::move(merged.conflicts);
    if (branch.conflicts.empty()) result.commit = std::move(merged.commit);
  }
}

void refuse_join_conflicts(Local&, JoinWorks& join) {
  std::string told;
  for (const WorkBranch& branch : join.branches)
    if (!branch.conflicts.empty())
      told += "work " + branch.work_name + " in " + branch.tree.path + " and one before it have both changed " +
              skald::first_of(branch.conflicts) + "; ";
  if (!told.empty())
    throw skald::Refused("JOIN_CONFLICTS", skald::cut_text(told, kConflictsToldMax) +
                                               "nothing was moved: make such a file the same in the worktrees of all "
                                               "works that have changed it, then resume");
}

void bring_in(Repositories& repositories, const TreeRestore& result) {
  if (result.commit == result.safety) return;
  const Tree tree{result.repository, result.path, result.branch};
  change_by_git([&] { repositories.restore_checkpoint(tree, result.commit); },
                [&] { repositories.restore_checkpoint(tree, result.safety); });
}

void keep_joined(Local& step, JoinWorks& join) {
  keep_checkpoint(step.tx(), {.id = join.joined_id,
                              .workflow_id = join.workflow_id,
                              .work_id = {},
                              .commits = commits_of(join.trees),
                              .created_at = step->now()});
}

// One that a person keeps in use stays, and goes with the workflow.
void try_to_remove(const Outside& outside, const JoinWorks& join, TreePlan& plan) {
  plan.error.reset();
  try {
    ask_git([&] {
      remove_branch(outside, plan);
      drop_taken(outside, join, plan, taken_of(join, plan));
    });
  } catch (const skald::Refused& refused) {
    if (refused.code() != "NO_REPOSITORY") plan.error = refused.code() + ": " + refused.what();
  }
  std::error_code not_empty;  // where another repository of the work is still there
  std::filesystem::remove(std::filesystem::path(plan.path).parent_path(), not_empty);
}

void forget_branch(Local& step, JoinWorks& join, TreePlan& plan) {
  const auto row = step->find<WorkTree>(tree_id(join.workflow_id, plan.git_id, plan.work_id));
  if (!row) return;
  if (plan.error) {
    say(step.tx(), kTreeStatusChanged, skald::change<WorkTree>(step.tx(), row->id, [&](WorkTree& stays) {
          stays.status = TreeStatus::RELEASING;
          stays.error = plan.error;
        }));
    return;
  }
  step->execute("DELETE FROM flow_work_tree WHERE id = $1", row->id);
  say(step.tx(), kTreeStatusChanged, *row, true);
}

using JoinSaga = skald::Saga<JoinWorks>;

bool joins(const JoinWorks& join) { return !join.works.empty(); }

void add_taking(JoinSaga& saga, const OutsideHandle& outside) {
  saga.local("begin", begin_join)
      .undo(fail_join)
      .holds("workflow", &JoinWorks::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .writes("workflow", Guard::optimistic)
      .commit()
      .each("take safety checkpoint", &JoinWorks::trees,
            [outside](Remote&, JoinWorks& join, TreePlan& tree) {
              ask_git([&] { take_checkpoint(*outside, join.workflow_id, join.safety_id, tree); });
            })
      .nothing_to_undo()  // it is kept whatever becomes of the rest
      .timeout(120s)
      .each("take works", &JoinWorks::branches,
            [outside](Remote&, JoinWorks& join, WorkBranch& branch) {
              ask_git([&] { take_checkpoint(*outside, join.workflow_id, taken_of(join, branch.tree), branch.tree); });
            })
      .undo(&JoinWorks::branches,
            [outside](Remote&, JoinWorks& join, WorkBranch& branch) {
              drop_taken(*outside, join, branch.tree, taken_of(join, branch.tree));
            })
      .timeout(120s)
      .local("keep safety checkpoint", keep_before_join)
      .nothing_to_undo()
      .when(joins)
      .writes("checkpoint", Guard::idempotency_key)
      .commit();
}

void add_merging(JoinSaga& saga, const OutsideHandle& outside) {
  saga.each("merge", &JoinWorks::results,
            [outside](Remote&, JoinWorks& join, TreeRestore& result) {
              ask_git([&] { merge_works(*outside->options.repositories, join, result); });
            })
      .nothing_to_undo()
      .timeout(120s)
      .local("look at conflicts", refuse_join_conflicts)
      .nothing_to_undo()
      .commit()
      .each("bring in", &JoinWorks::results,
            [outside](Remote&, JoinWorks&, TreeRestore& result) { bring_in(*outside->options.repositories, result); })
      .undo(&JoinWorks::results,
            [outside](Remote&, JoinWorks&, TreeRestore& result) {
              outside->options.repositories->restore_checkpoint({result.repository, result.path, result.branch},
                                                                result.safety);
            })
      .timeout(120s)
      .each("take checkpoint", &JoinWorks::trees,
            [outside](Remote&, JoinWorks& join, TreePlan& tree) {
              ask_git([&] { take_checkpoint(*outside, join.workflow_id, join.joined_id, tree); });
            })
      .undo(&JoinWorks::trees,
            [outside](Remote&, JoinWorks& join, TreePlan& tree) { drop_taken(*outside, join, tree, join.joined_id); })
      .timeout(120s);
}

void add_closing(JoinSaga& saga, const OutsideHandle& outside) {
  saga.local("keep checkpoint", keep_joined)
      .pivot()
      .when(joins)
      .writes("checkpoint", Guard::idempotency_key)
      .commit()
      .each("note join", &JoinWorks::works,
            [](Local& step, JoinWorks& join, Use& work) {
              skald::change<Work>(step.tx(), work.id, [&](Work& row) { row.joined_checkpoint = join.joined_id; });
            })
      .writes("work", Guard::optimistic)
      .commit()
      .each("remove worktree", &JoinWorks::removals,
            [outside](Remote&, JoinWorks& join, TreePlan& plan) { try_to_remove(*outside, join, plan); })
      .timeout(120s)
      .each("forget worktree", &JoinWorks::removals, forget_branch)
      .writes("workflow", Guard::optimistic)
      .commit()
      .local("joined",
             [](Local& step, JoinWorks& join) {
               say(step.tx(), kGroupJoined, skald::found<Workflow>(step.tx(), join.workflow_id));
             })
      .when(joins)
      .reads("workflow");
}

}  // namespace

skald::Saga<JoinWorks> join_saga(const OutsideHandle& outside) {
  JoinSaga saga("agentflow.join");
  add_taking(saga, outside);
  add_merging(saga, outside);
  add_closing(saga, outside);
  return saga;
}

}  // namespace agentflow
