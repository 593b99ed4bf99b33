// Starting a workflow: registered at every Git, then at every McpServer, then its space and worktrees, then READY. What
// fails undoes exactly what this saga did, in reverse, and the workflow is CREATED again.
#include <filesystem>

#include "agentflow/events.h"
#include "agentflow/use.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

TreePlan plan_of(const Outside& outside, skald::Transaction& tx, const std::string& workflow_id, const GitRef& ref) {
  const Git git = skald::found<Git>(tx, ref.git_id);
  return {.git_id = git.id,
          .repository = git.path,
          .path = outside.space_of(workflow_id) + "/" + git.name,
          .branch = "skald/" + workflow_id,
          .base_branch = ref.base_branch,
          .base = "",
          .commit = ""};
}

void begin(const Outside& outside, Local& step, StartWorkflow& start) {
  const Workflow workflow = move(step.tx(), start.workflow_id, WorkflowMove::start, [&](Workflow& row) {
    row.error.reset();
    row.cancel_wanted = false;
    row.saga_id = step.saga_id();
  });
  start.space = outside.space_of(workflow.id);
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

void make_space(const Outside& outside, const StartWorkflow& start) {
  std::error_code error;
  std::filesystem::create_directories(start.space, error);
  if (error)
    throw skald::Refused("NO_SPACE_FOLDER", "the folder of the workflow cannot be made (" + error.message() +
                                                "): look at " + outside.options.folder);
}

void remove_space(const StartWorkflow& start) {
  std::error_code error;
  std::filesystem::remove_all(start.space, error);
  if (error)
    throw skald::Unavailable("NO_SPACE_FOLDER", "the folder of the workflow cannot be removed: " + error.message());
}

// A row for each before git is asked: what is on disk is never unknown to the database.
void plan_trees(Local& step, StartWorkflow& start) {
  step->insert(Space{start.workflow_id, start.space});
  for (const TreePlan& plan : start.trees)
    step->insert(WorkTree{.id = tree_id(start.workflow_id, plan.git_id),
                          .git_id = plan.git_id,
                          .workflow_id = start.workflow_id,
                          .branch = plan.branch,
                          .path = plan.path,
                          .repository = plan.repository,
                          .base_branch = plan.base_branch,
                          .base = {},
                          .status = TreeStatus::PENDING,
                          .error = {},
                          .version = 0});
}

void forget_trees(Local& step, StartWorkflow& start) {
  step->execute("DELETE FROM flow_work_tree WHERE workflow_id = $1", start.workflow_id);
  step->execute("DELETE FROM flow_space WHERE workflow_id = $1", start.workflow_id);
}

void add_tree(const Outside& outside, TreePlan& plan) {
  Repositories& repositories = *outside.options.repositories;
  if (plan.base.empty()) plan.base = repositories.resolve(plan.repository, plan.base_branch.value_or("HEAD"));
  repositories.add_tree({plan.repository, plan.path, plan.branch}, plan.base);
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
      .local("plan worktrees", plan_trees)
      .undo(forget_trees)
      .writes("workflow", Guard::optimistic)
      .remote("make space", [outside](Remote&, StartWorkflow& start) { make_space(*outside, start); })
      .undo([](Remote&, StartWorkflow& start) { remove_space(start); })
      .each("add worktree", &StartWorkflow::trees,
            [outside](Remote&, StartWorkflow&, TreePlan& plan) { add_tree(*outside, plan); })
      .undo(&StartWorkflow::trees,
            [outside](Remote&, StartWorkflow&, TreePlan& plan) {
              outside->options.repositories->remove_tree({plan.repository, plan.path, plan.branch});
            })
      .retry(3, 200ms)
      .timeout(120s)
      .local("note worktrees", note_trees)
      .nothing_to_undo()  // their rows go with the plan's undo
      .writes("workflow", Guard::optimistic)
      .local("start", begin_works)
      .nothing_to_undo()
      .writes("workflow", Guard::optimistic);
}

}  // namespace agentflow
