// Starting a workflow: registered at every Git, then at every McpServer, then its ports, space and worktrees, then READY.
// What fails undoes exactly what this saga did, in reverse, and the workflow is CREATED again.
#include "agentflow/events.h"
#include "agentflow/ports.h"
#include "agentflow/trees.h"
#include "agentflow/use.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

void begin(const Outside& outside, Local& step, StartWorkflow& start) {
  const Workflow workflow = move(step.tx(), start.workflow_id, WorkflowMove::start, [&](Workflow& row) {
    row.error.reset();
    row.cancel_wanted = false;
    row.saga_id = step.saga_id();
  });
  start.space = outside.space_of(workflow.id);
  start.ports = workflow.ports;
  start.gits = git_uses(workflow);
  start.mcp_servers = mcp_uses(step.tx(), workflow.id);
  start.trees.clear();
  for (const GitRef& ref : in_column<std::vector<GitRef>>(workflow.git_refs))
    start.trees.push_back(plan_of(outside, step.tx(), workflow.id, ref));
}

void back_to_created(Local& step, StartWorkflow& start) {
  const auto why = step.context().failure;
  move(step.tx(), start.workflow_id, WorkflowMove::compensated, [&](Workflow& row) {
    if (why) row.error = why->code + ": " + why->message;
  });
}

// Those that a modification has planned before are there.
void plan_trees(Local& step, StartWorkflow& start) {
  step->insert(Space{start.workflow_id, start.space});
  for (TreePlan& plan : start.trees) {
    plan.added = !step->find<WorkTree>(tree_id(start.workflow_id, plan.git_id));
    if (plan.added) step->insert(row_of(start.workflow_id, plan));
  }
}

void forget_trees(Local& step, StartWorkflow& start) {
  for (const TreePlan& plan : start.trees)
    if (plan.added) step->execute("DELETE FROM flow_work_tree WHERE id = $1", tree_id(start.workflow_id, plan.git_id));
  step->execute("DELETE FROM flow_space WHERE workflow_id = $1", start.workflow_id);
}

void note_trees(Local& step, StartWorkflow& start) {
  for (const TreePlan& plan : start.trees) {
    const WorkTree tree =
        skald::change<WorkTree>(step.tx(), tree_id(start.workflow_id, plan.git_id), [&](WorkTree& row) {
          row.base = plan.base;
          row.status = TreeStatus::READY;
        });
    say(step.tx(), kTreeCreated, tree);
  }
}

// Rows that this saga has added go with its plan; the others are as they were.
void unnote_trees(Local& step, StartWorkflow& start) {
  for (const TreePlan& plan : start.trees)
    if (!plan.added)
      skald::change<WorkTree>(step.tx(), tree_id(start.workflow_id, plan.git_id), [](WorkTree& row) {
        row.base.reset();
        row.status = TreeStatus::PENDING;
      });
}

void begin_works(Local& step, StartWorkflow& start) {
  if (skald::found<Workflow>(step.tx(), start.workflow_id).cancel_wanted)
    throw skald::Refused("CANCEL_WANTED", "the workflow was cancelled while it was being started");
  say(step.tx(), kWorkflowStarted, move(step.tx(), start.workflow_id, WorkflowMove::resources_ready));
}

}  // namespace

skald::Saga<StartWorkflow> start_saga(const OutsideHandle& outside) {
  return skald::Saga<StartWorkflow>("agentflow.start")
      .local("begin", [outside](Local& step, StartWorkflow& start) { begin(*outside, step, start); })
      .undo(back_to_created)
      .holds("workflow", &StartWorkflow::workflow_id, skald::exclusive, skald::wait_up_to(60s))
      .writes("workflow", Guard::optimistic)
      .commit()
      .each("register at git", &StartWorkflow::gits,
            [](Local& step, StartWorkflow& start, Use& use) {
              register_use<Git>(step.tx(), start.workflow_id, use, "register at git");
            })
      .undo(&StartWorkflow::gits,
            [](Local& step, StartWorkflow& start, Use& use) {
              if (use.added) release_use<Git>(step.tx(), start.workflow_id, use.id, "take back from git");
            })
      .writes("git", Guard::commutative)
      .commit()
      .each("register at mcp server", &StartWorkflow::mcp_servers,
            [](Local& step, StartWorkflow& start, Use& use) {
              register_use<McpServer>(step.tx(), start.workflow_id, use, "register at mcp server");
            })
      .undo(&StartWorkflow::mcp_servers,
            [](Local& step, StartWorkflow& start, Use& use) {
              if (use.added) release_use<McpServer>(step.tx(), start.workflow_id, use.id, "take back from mcp server");
            })
      .writes("mcp server", Guard::commutative)
      .commit()
      .local("take ports",
             [outside](Local& step, StartWorkflow& start) {
               take_ports(*outside, step.tx(), start.workflow_id, start.ports);
             })
      .undo([](Local& step, StartWorkflow& start) { release_ports(step.tx(), start.workflow_id); })
      .writes("port", Guard::idempotency_key)  // its number: it is given once
      .local("plan worktrees", plan_trees)
      .undo(forget_trees)
      .writes("workflow", Guard::optimistic)
      // A step of its own: a base that is gone at a second try says nothing of what the first has made.
      .each("find base", &StartWorkflow::trees,
            [outside](Remote&, StartWorkflow&, TreePlan& plan) { find_base(*outside, plan); })
      .nothing_to_undo()
      .retry(3, 200ms)
      .timeout(120s)
      .remote("make space", [outside](Remote&, StartWorkflow& start) { outside->spaces().make(start.space); })
      .undo([outside](Remote&, StartWorkflow& start) { outside->spaces().remove(start.space); })
      .each("add worktree", &StartWorkflow::trees,
            [outside](Remote&, StartWorkflow&, TreePlan& plan) { add_tree(*outside, plan); })
      .undo(&StartWorkflow::trees,
            [outside](Remote&, StartWorkflow&, TreePlan& plan) {
              outside->options.repositories->remove_tree({plan.repository, plan.path, plan.branch});
            })
      .retry(3, 200ms)
      .timeout(120s)
      .local("note worktrees", note_trees)
      .undo(unnote_trees)
      .writes("workflow", Guard::optimistic)
      .local("start", begin_works)
      .nothing_to_undo()
      .writes("workflow", Guard::optimistic);
}

}  // namespace agentflow
