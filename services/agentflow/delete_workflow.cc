// Deleting a workflow, and releasing what one used that has ended: forward only. Each step is harmless to repeat and is
// tried until it works.
#include "agentflow/events.h"
#include "agentflow/queries.h"
#include "agentflow/trees.h"
#include "agentflow/use.h"
#include "agentflow/walk.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

void begin_deletion(Local& step, WorkflowWalk& walk) {
  const Workflow workflow =
      move(step.tx(), walk.workflow_id, WorkflowMove::remove, [&](Workflow& row) { row.saga_id = step.saga_id(); });
  walk.gits = git_uses(step.tx(), workflow);
  walk.mcp_servers = mcp_uses(step.tx(), workflow.id);
  walk.works.clear(), walk.runs.clear();
  for (const Work& work : works_of(step.tx(), workflow.id)) {
    walk.works.push_back({work.id});
    note_query_runs(step.tx(), work.id, walk.runs);
  }
  walk.trees.clear();
  for (const WorkTree& tree : trees_of(step.tx(), workflow.id)) walk.trees.push_back(plan_of(tree));
}

void remove_files(Outside& outside, const WorkflowWalk& walk) {
  for (const std::string& run : walk.runs) outside.agents().forget(run);
  outside.spaces().remove(outside.space_of(walk.workflow_id));
}

void delete_rows(Local& step, WorkflowWalk& walk) {
  const auto workflow = step->find<Workflow>(walk.workflow_id);
  if (!workflow) return;
  // The works first: whoever notes something of one just now is waited for, and its row goes, too.
  for (const char* table : {"flow_work", "flow_question", "flow_query", "flow_mailbox", "flow_usage", "flow_checkpoint",
                            "flow_report", "flow_work_tree", "flow_space"})
    step->execute("DELETE FROM " + std::string(table) + " WHERE workflow_id = $1", walk.workflow_id);
  step->execute("DELETE FROM flow_workflow WHERE id = $1", walk.workflow_id);
  // The head first: whoever appends just now is waited for, and its row goes, too.
  for (const char* table : {"flow_story", "flow_history"})
    step->execute("DELETE FROM " + std::string(table) + " WHERE workflow_id = $1", walk.workflow_id);
  say(step.tx(), kWorkflowDeleted, *workflow);
}

void release_git(Local& step, WorkflowWalk& walk, Use& use) {
  release_use<Git>(step.tx(), walk.workflow_id, use.id, "release git");
}
void release_mcp_server(Local& step, WorkflowWalk& walk, Use& use) {
  release_use<McpServer>(step.tx(), walk.workflow_id, use.id, "release mcp server");
}

skald::Saga<WorkflowWalk>& add_releases(skald::Saga<WorkflowWalk>& saga) {
  return saga
      .local("release ports", [](Local& step, WorkflowWalk& walk) { release_ports(step.tx(), walk.workflow_id); })
      .writes("port", Guard::idempotency_key)
      .each("release git", &WorkflowWalk::gits, release_git)
      .writes("git", Guard::commutative)
      .commit()
      .each("release mcp server", &WorkflowWalk::mcp_servers, release_mcp_server)
      .writes("mcp server", Guard::commutative)
      .commit();
}

}  // namespace

skald::Saga<WorkflowWalk> delete_saga(const OutsideHandle& outside) {
  skald::Saga<WorkflowWalk> saga("agentflow.delete");
  saga.local("begin", begin_deletion)
      .nothing_to_undo()
      .holds("workflow", &WorkflowWalk::workflow_id, skald::exclusive, skald::wait_up_to(60s))
      .pivot()
      .writes("workflow", Guard::optimistic)
      .commit()
      // One of a group may run on after another has failed the workflow.
      .each("stop work", &WorkflowWalk::works, stop_work)
      .writes("work", Guard::optimistic)
      .commit();
  add_stop(saga, outside);
  saga.each("remove worktree", &WorkflowWalk::trees,
            [outside](Remote&, WorkflowWalk& walk, TreePlan& tree) { remove_tree(*outside, walk.workflow_id, tree); })
      .timeout(120s)
      .remote("remove files", [outside](Remote&, WorkflowWalk& walk) { remove_files(*outside, walk); });
  return add_releases(saga)
      .local("delete rows", delete_rows)
      .writes("workflow", Guard::optimistic)
      .writes("work", Guard::optimistic)
      .writes("checkpoint", Guard::idempotency_key);
}

skald::Saga<WorkflowWalk> release_saga() {
  skald::Saga<WorkflowWalk> saga("agentflow.release");
  saga.local("look",
             [](Local& step, WorkflowWalk& walk) {
               const auto workflow = step->find<Workflow>(walk.workflow_id);
               if (!workflow) return;  // its deletion has released everything
               walk.gits = git_uses(step.tx(), *workflow);
               walk.mcp_servers = mcp_uses(step.tx(), walk.workflow_id);
             })
      .reads("plan")
      .commit();
  return add_releases(saga).forward_only();
}

}  // namespace agentflow
