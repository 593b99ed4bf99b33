// The next work of a workflow, or the next group of works, and what stands between two works: the checkpoint.
#include "agentflow/checkpoints.h"
#include "agentflow/events.h"
#include "agentflow/trees.h"
#include "agentflow/walk.h"
#include "agentflow/work_groups.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

// Those that wait for their turn. None where one has stopped: a person decides then.
std::vector<Use> beginning(const std::vector<Work>& turn) {
  std::vector<Use> out;
  for (const Work& work : turn) {
    if (work.status == WorkStatus::PENDING) out.push_back({work.id});
    else if (work.status != WorkStatus::RUNNING && work.status != WorkStatus::COMPLETED) return {};
  }
  return out;
}

// One of a group that has failed while the workflow was being resumed has failed nobody yet.
std::optional<std::string> failure_in(const std::vector<Work>& turn) {
  const auto failed = std::ranges::find(turn, WorkStatus::FAILED, &Work::status);
  if (failed == turn.end()) return std::nullopt;
  return failed->error.value_or("work " + failed->name + " has failed");
}

void choose_works(Local& step, NextWork& next) {
  next = {.workflow_id = next.workflow_id};
  const auto workflow = step->find<Workflow>(next.workflow_id);
  if (!workflow) return;
  next.unsettled = has_unsettled_trees(step.tx(), *workflow);  // also of one that was paused or has failed meanwhile
  if (!allows(workflow->status, WorkflowMove::work_begins)) return;
  const std::vector<Work> turn = works_in_turn(works_as_noted(step.tx(), *workflow));
  if (turn.empty()) {
    say(step.tx(), kWorkflowCompleted, move(step.tx(), workflow->id, WorkflowMove::none_left));
    return;
  }
  next.works = beginning(turn);
  next.branches = turn[0].parallel.has_value() && !next.works.empty();
  const auto failure = failure_in(turn);
  const bool joins = can_be_joined(step.tx(), turn);
  if (next.works.empty() && !failure && !joins) return;
  if (workflow->status != WorkflowStatus::RUNNING) move(step.tx(), workflow->id, WorkflowMove::work_begins);
  if (failure) fail_workflow(step.tx(), workflow->id, *failure);
  if (joins) say(step.tx(), kGroupCompleted, skald::found<Workflow>(step.tx(), workflow->id));
}

std::optional<std::string> missing_tree(Local& step, const std::string& workflow_id) {
  const auto trees = trees_of(step.tx(), workflow_id);
  const auto missing = std::ranges::find(trees, TreeStatus::FAILED, &WorkTree::status);
  if (missing == trees.end()) return std::nullopt;
  return "the worktree of git " + missing->git_id + " cannot be made: " + missing->error.value_or("");
}

// No work begins without all of its worktrees; the workflow waits for a person then.
void look_at_missing(Local& step, NextWork& next) {
  if (!next.error && next.unsettled) next.error = missing_tree(step, next.workflow_id);
  if (!next.error) return;
  fail_workflow(step.tx(), next.workflow_id, *next.error);
  next.works.clear();
}

// The worktree of the first repository: the work's own where it is one of a group.
std::optional<std::string> folder_of(Local& step, const Work& work) {
  const Workflow workflow = skald::found<Workflow>(step.tx(), work.workflow_id);
  const auto own = work.base_checkpoint ? std::optional(work.id) : std::nullopt;
  for (const GitRef& ref : in_column<std::vector<GitRef>>(workflow.git_refs))
    if (const auto tree = step->find<WorkTree>(tree_id(workflow.id, ref.git_id, own))) return tree->path;
  return std::nullopt;
}

void begin_chosen(Local& step, NextWork&, Use& use) {
  const auto work = step->find<Work>(use.id);
  if (!work || work->status != WorkStatus::PENDING) return;
  const Work begun = skald::change<Work>(step.tx(), work->id, [&](Work& row) {
    row.status = WorkStatus::RUNNING;
    row.folder = folder_of(step, row);
    row.error.reset();
  });
  say(step.tx(), kWorkStatusChanged, begun);
  say(step.tx(), kWorkStarted, begun);
}

}  // namespace

skald::Saga<NextWork> next_saga(const skald::Saga<SettleTrees>& settle, const skald::Saga<BranchWorks>& branch) {
  return skald::Saga<NextWork>("agentflow.next")
      .local("choose work", choose_works)
      .holds("workflow", &NextWork::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .writes("workflow", Guard::optimistic)
      .commit()
      .child<SettleTrees>(
          "settle worktrees", settle, [](const NextWork& next) { return SettleTrees{next.workflow_id, {}, {}}; },
          [](Local&, NextWork&, const SettleTrees&) {})
      .when([](const NextWork& next) { return next.unsettled; })
      .child<BranchWorks>(
          "branch off", branch,
          [](const NextWork& next) { return BranchWorks{.workflow_id = next.workflow_id, .works = next.works}; },
          [](Local&, NextWork& next, const BranchWorks& ended) { next.error = ended.error; })
      .when([](const NextWork& next) { return next.branches; })
      .local("look at worktrees", look_at_missing)
      .when([](const NextWork& next) { return !next.works.empty(); })
      .writes("workflow", Guard::optimistic)
      .commit()
      .each("begin work", &NextWork::works, begin_chosen)
      .writes("work", Guard::optimistic)
      .commit()
      .forward_only();
}

// The checkpoint is taken first, and the next work begins only where it is kept: also after a crash in between.
skald::Saga<Advance> advance_saga(const OutsideHandle& outside, const skald::Saga<NextWork>& next) {
  return skald::Saga<Advance>("agentflow.advance")
      .local("look at worktrees",
             [](Local& step, Advance& advance) {
               const auto work = step->find<Work>(advance.work_id);
               advance.trees = work ? ready_trees(step.tx(), *work) : std::vector<TreePlan>{};
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
