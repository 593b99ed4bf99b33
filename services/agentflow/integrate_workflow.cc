// Bringing a workflow home: what its branches have, into the target of each repository. All of them or none; conflicts
// are found before anything moves.
#include "agentflow/checkpoints.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

Tree tree_of(const TreeHome& home) { return {home.repository, home.path, home.branch}; }

Integration integration_of(const IntegrateWorkflow& integrate, const TreeHome& home) {
  return {.mode = integrate.mode, .target = home.target, .message = integrate.message, .id = integrate.id};
}

IntegrationTrial trial_of(const TreeHome& home) { return {home.before, home.after, home.conflicts}; }

void note(const Outside& outside, Local& step, const IntegrateWorkflow& integrate, const IntegrationNote& what) {
  skald::change<Workflow>(step.tx(), integrate.workflow_id, [&](Workflow& row) {
    row.integration = skald::to_json(what);
    row.updated_at = step->now();
  });
  step->after_commit([publish = outside.options.publish] { publish(kTopic); });
}

void begin_integration(const Outside& outside, Local& step, IntegrateWorkflow& integrate) {
  const Workflow workflow = move(step.tx(), integrate.workflow_id, WorkflowMove::integrate,
                                 [&](Workflow& row) { row.saga_id = step.saga_id(); });
  note(outside, step, integrate, {.id = integrate.id, .mode = integrate.mode});
  integrate.message = "Bring home " + workflow.name;
  integrate.trees.clear();
  for (const TreePlan& tree : ready_trees(step.tx(), workflow.id))
    integrate.trees.push_back({.git_id = tree.git_id,
                               .repository = tree.repository,
                               .path = tree.path,
                               .branch = tree.branch,
                               .target = integrate.target.value_or(tree.base_branch.value_or(""))});
}

void note_failure(const Outside& outside, Local& step, IntegrateWorkflow& integrate) {
  IntegrationNote failed{.id = integrate.id, .status = IntegrationStatus::FAILED, .mode = integrate.mode};
  std::vector<TreeConflicts> conflicts;
  for (const TreeHome& home : integrate.trees)
    if (!home.conflicts.empty()) conflicts.push_back({home.git_id, home.conflicts});
  if (!conflicts.empty()) failed.conflicts = std::move(conflicts);
  if (const auto why = step.context().failure) failed.error = why->code + ": " + why->message;
  note(outside, step, integrate, failed);
}

void commit_rest(Repositories& repositories, const IntegrateWorkflow& integrate, TreeHome& home) {
  if (home.target.empty()) home.target = repositories.inspect(home.repository).default_branch;
  if (home.target.empty())
    throw skald::Refused("NO_TARGET", "the repository at " + home.repository +
                                          " is on no branch: say into which target the work is to be brought");
  repositories.commit_rest(tree_of(home), integrate.message);
}

void try_home(Repositories& repositories, const IntegrateWorkflow& integrate, TreeHome& home) {
  IntegrationTrial trial = repositories.try_integration(tree_of(home), integration_of(integrate, home));
  home.before = std::move(trial.before);
  home.after = std::move(trial.after);
  home.conflicts = std::move(trial.conflicts);
}

void refuse_conflicts(Local&, IntegrateWorkflow& integrate) {
  std::size_t files = 0;
  for (const TreeHome& home : integrate.trees) files += home.conflicts.size();
  if (files > 0)
    throw skald::Refused("MERGE_CONFLICTS", "the work and its target have both changed " + std::to_string(files) +
                                                (files == 1 ? " file" : " files") +
                                                "; nothing was moved: resolve that in the worktrees, then try again");
}

}  // namespace

skald::Saga<IntegrateWorkflow> integrate_saga(const OutsideHandle& outside) {
  return skald::Saga<IntegrateWorkflow>("agentflow.integrate")
      .local("begin", [outside](Local& step, IntegrateWorkflow& state) { begin_integration(*outside, step, state); })
      .undo([outside](Local& step, IntegrateWorkflow& state) { note_failure(*outside, step, state); })
      .holds("workflow", &IntegrateWorkflow::workflow_id, skald::exclusive, skald::wait_up_to(60s))
      .writes("workflow", Guard::optimistic)
      .commit()
      .each("commit rest", &IntegrateWorkflow::trees,
            [outside](Remote&, IntegrateWorkflow& state, TreeHome& home) {
              ask_git([&] { commit_rest(*outside->options.repositories, state, home); });
            })
      .nothing_to_undo()  // the workflow's own branch has what its worktree has
      .timeout(120s)
      .each("try", &IntegrateWorkflow::trees,
            [outside](Remote&, IntegrateWorkflow& state, TreeHome& home) {
              ask_git([&] { try_home(*outside->options.repositories, state, home); });
            })
      .nothing_to_undo()
      .timeout(120s)
      .local("look at conflicts", refuse_conflicts)
      .nothing_to_undo()
      .commit()
      .each("integrate", &IntegrateWorkflow::trees,
            [outside](Remote&, IntegrateWorkflow& state, TreeHome& home) {
              Repositories& repositories = *outside->options.repositories;
              const Integration how = integration_of(state, home);
              change_by_git([&] { repositories.integrate(tree_of(home), how, trial_of(home)); },
                            [&] { repositories.undo_integration(tree_of(home), how, trial_of(home)); });
            })
      .undo(&IntegrateWorkflow::trees,
            [outside](Remote&, IntegrateWorkflow& state, TreeHome& home) {
              outside->options.repositories->undo_integration(tree_of(home), integration_of(state, home),
                                                              trial_of(home));
            })
      .timeout(120s)
      .local("done",
             [outside](Local& step, IntegrateWorkflow& state) {
               note(*outside, step, state, {.id = state.id, .status = IntegrationStatus::DONE, .mode = state.mode});
             })
      .nothing_to_undo()
      .writes("workflow", Guard::optimistic);
}

}  // namespace agentflow
