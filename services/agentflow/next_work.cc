// The next work of a workflow, and what stands between two works: the checkpoint.
#include "agentflow/checkpoints.h"
#include "agentflow/events.h"
#include "agentflow/use.h"

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
  const auto workflow = step->find<Workflow>(next.workflow_id);
  if (!workflow || !allows(workflow->status, WorkflowMove::work_begins)) return;
  if (all_done(*workflow)) {
    say(step.tx(), kWorkflowCompleted, move(step.tx(), workflow->id, WorkflowMove::none_left));
    return;
  }
  next.work_id = next_of(*workflow);
  if (next.work_id && workflow->status != WorkflowStatus::RUNNING)
    move(step.tx(), workflow->id, WorkflowMove::work_begins);
}

void begin_work(Local& step, NextWork& next) {
  const auto work = step->find<Work>(*next.work_id);
  if (!work || work->status != WorkStatus::PENDING) return;
  const Work begun = skald::change<Work>(step.tx(), work->id, [](Work& row) {
    row.status = WorkStatus::RUNNING;
    row.error.reset();
  });
  say(step.tx(), kWorkStatusChanged, begun);
  say(step.tx(), kWorkStarted, begun);
}

}  // namespace

skald::Saga<NextWork> next_saga() {
  return skald::Saga<NextWork>("agentflow.next")
      .local("choose work", choose)
      .holds("workflow", &NextWork::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .writes("workflow", Guard::optimistic)
      .commit()
      .local("begin work", begin_work)
      .when([](const NextWork& next) { return next.work_id.has_value(); })
      .writes("work", Guard::optimistic)
      .forward_only();
}

// The checkpoint is taken first, and the next work begins only where it is kept: also after a crash in between.
skald::Saga<Advance> advance_saga(const OutsideHandle& outside, const skald::Saga<NextWork>& next) {
  return skald::Saga<Advance>("agentflow.advance")
      .local("look at worktrees",
             [](Local& step, Advance& advance) { advance.trees = ready_trees(step.tx(), advance.workflow_id); })
      .holds("workflow", &Advance::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .reads("workflow")
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
          "next work", next, [](const Advance& advance) { return NextWork{advance.workflow_id, {}}; },
          [](Local&, Advance&, const NextWork&) {})
      .forward_only();
}

}  // namespace agentflow
