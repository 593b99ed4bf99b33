// The next work of a workflow, and what stands between two works: the checkpoint.
#include "agentflow/checkpoints.h"
#include "agentflow/events.h"
#include "agentflow/trees.h"
#include "agentflow/use.h"
#include "agentflow/walk.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

// The first that is PENDING, where none runs or has stopped before it.
std::optional<std::string> next_of(const Workflow& workflow) {
  const auto statuses = in_column<WorkStatuses>(workflow.work_statuses);
  for (const std::string& id : in_column<Ids>(workflow.work_ids)) {
    const WorkStatus status = statuses.at(id);
    if (status == WorkStatus::COMPLETED) continue;
    return status == WorkStatus::PENDING ? std::optional(id) : std::nullopt;
  }
  return std::nullopt;
}

bool all_done(const Workflow& workflow) {
  const auto statuses = in_column<WorkStatuses>(workflow.work_statuses);
  return std::ranges::all_of(statuses, [](const auto& one) { return one.second == WorkStatus::COMPLETED; });
}

void choose(Local& step, NextWork& next) {
  next.work_id.reset();
  next.unsettled = false;
  const auto workflow = step->find<Workflow>(next.workflow_id);
  if (!workflow || !allows(workflow->status, WorkflowMove::work_begins)) return;
  next.unsettled = has_unsettled_trees(step.tx(), *workflow);
  if (all_done(*workflow)) {
    say(step.tx(), kWorkflowCompleted, move(step.tx(), workflow->id, WorkflowMove::none_left));
    return;
  }
  next.work_id = next_of(*workflow);
  if (next.work_id && workflow->status != WorkflowStatus::RUNNING)
    move(step.tx(), workflow->id, WorkflowMove::work_begins);
}

// The work does not begin without all of its worktrees; the workflow waits for a person then.
bool fails_for_a_tree(Local& step, const Workflow& workflow) {
  const auto trees = trees_of(step.tx(), workflow.id);
  const auto missing = std::ranges::find(trees, TreeStatus::FAILED, &WorkTree::status);
  if (missing == trees.end()) return false;
  say(step.tx(), kWorkflowFailed, move(step.tx(), workflow.id, WorkflowMove::work_failed, [&](Workflow& row) {
        row.error = "the worktree of git " + missing->git_id + " cannot be made: " + missing->error.value_or("");
      }));
  return true;
}

std::string folder_of(Local& step, const Workflow& workflow) {
  const auto refs = in_column<std::vector<GitRef>>(workflow.git_refs);
  return skald::found<WorkTree>(step.tx(), tree_id(workflow.id, refs.at(0).git_id)).path;
}

void begin_work(Local& step, NextWork& next) {
  const Workflow workflow = skald::found<Workflow>(step.tx(), next.workflow_id);
  const auto work = step->find<Work>(*next.work_id);
  if (!work || work->status != WorkStatus::PENDING) return;
  if (next.unsettled && fails_for_a_tree(step, workflow)) return;
  const Work begun = skald::change<Work>(step.tx(), work->id, [&](Work& row) {
    row.status = WorkStatus::RUNNING;
    row.folder = folder_of(step, workflow);
    row.error.reset();
  });
  say(step.tx(), kWorkStatusChanged, begun);
  say(step.tx(), kWorkStarted, begun);
}

}  // namespace

skald::Saga<NextWork> next_saga(const skald::Saga<SettleTrees>& settle) {
  return skald::Saga<NextWork>("agentflow.next")
      .local("choose work", choose)
      .holds("workflow", &NextWork::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .writes("workflow", Guard::optimistic)
      .commit()
      .child<SettleTrees>(
          "settle worktrees", settle, [](const NextWork& next) { return SettleTrees{next.workflow_id, {}, {}}; },
          [](Local&, NextWork&, const SettleTrees&) {})
      .when([](const NextWork& next) { return next.unsettled; })
      .local("begin work", begin_work)
      .when([](const NextWork& next) { return next.work_id.has_value(); })
      .writes("work", Guard::optimistic)
      .writes("workflow", Guard::optimistic)
      .forward_only();
}

// The checkpoint is taken first, and the next work begins only where it is kept: also after a crash in between.
skald::Saga<Advance> advance_saga(const OutsideHandle& outside, const skald::Saga<NextWork>& next) {
  return skald::Saga<Advance>("agentflow.advance")
      .local("look at worktrees",
             [](Local& step, Advance& advance) {
               advance.trees = ready_trees(step.tx(), advance.workflow_id);
               const auto work = step->find<Work>(advance.work_id);
               advance.last_run = work ? in_column<Tasks>(work->tasks).back().run : std::nullopt;
             })
      .holds("workflow", &Advance::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .reads("workflow")
      .remote("end agent",
              [outside](Remote& step, Advance& advance) { let_end(*outside, *advance.last_run, step.timeout()); })
      .when([](const Advance& advance) { return advance.last_run.has_value(); })
      .timeout(30s)
      .each("take checkpoint", &Advance::trees,
            [outside](Remote&, Advance& advance, TreePlan& tree) {
              take_checkpoint(*outside, advance.workflow_id, advance.work_id, tree);
            })
      .timeout(120s)
      .local("keep checkpoint",
             [](Local& step, Advance& advance) {
               keep_checkpoint(step.tx(), {.id = advance.work_id,
                                           .workflow_id = advance.workflow_id,
                                           .work_id = advance.work_id,
                                           .commits = commits_of(advance.trees),
                                           .created_at = step->now()});
             })
      .writes("checkpoint", Guard::idempotency_key)
      .commit()
      .child<NextWork>(
          "next work", next, [](const Advance& advance) { return NextWork{advance.workflow_id}; },
          [](Local&, Advance&, const NextWork&) {})
      .forward_only();
}

}  // namespace agentflow
