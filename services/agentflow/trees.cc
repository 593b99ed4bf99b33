#include "agentflow/trees.h"

#include "agentflow/checkpoints.h"

namespace agentflow {

TreePlan plan_of(const Outside& outside, skald::Transaction& tx, const std::string& workflow_id, const GitRef& ref) {
  const Git git = skald::found<Git>(tx, ref.git_id);
  return {.git_id = git.id,
          .repository = git.path,
          .path = outside.space_of(workflow_id) + "/" + git.name,
          .branch = "skald/" + workflow_id,
          .base_branch = ref.base_branch};
}

TreePlan plan_of(const WorkTree& row) {
  return {.git_id = row.git_id,
          .repository = row.repository,
          .path = row.path,
          .branch = row.branch,
          .base_branch = row.base_branch,
          .base = row.base.value_or(""),
          .work_id = row.work_id};
}

WorkTree row_of(const std::string& workflow_id, const TreePlan& plan) {
  return {.id = tree_id(workflow_id, plan.git_id, plan.work_id),
          .git_id = plan.git_id,
          .workflow_id = workflow_id,
          .branch = plan.branch,
          .path = plan.path,
          .repository = plan.repository,
          .base_branch = plan.base_branch,
          .base = {},
          .status = TreeStatus::PENDING,
          .error = {},
          .work_id = plan.work_id,
          .version = 0};
}

void find_base(const Outside& outside, TreePlan& plan) {
  if (plan.base.empty())
    plan.base = outside.options.repositories->resolve(plan.repository, plan.base_branch.value_or("HEAD"));
}

void add_tree(const Outside& outside, TreePlan& plan) {
  find_base(outside, plan);
  Repositories& repositories = *outside.options.repositories;
  const Tree tree{plan.repository, plan.path, plan.branch};
  change_by_git([&] { repositories.add_tree(tree, plan.base); }, [&] { repositories.remove_tree(tree); });
}

namespace {

// A repository that has vanished has nothing of ours left.
template <class Call>
void where_it_is_there(Call&& call) {
  try {
    call();
  } catch (const skald::Refused& refused) {
    if (refused.code() != "NO_REPOSITORY") throw;
  }
}

}  // namespace

void remove_branch(const Outside& outside, const TreePlan& plan) {
  where_it_is_there([&] { outside.options.repositories->remove_tree({plan.repository, plan.path, plan.branch}); });
}

void remove_tree(const Outside& outside, const std::string& workflow_id, const TreePlan& plan) {
  remove_branch(outside, plan);
  where_it_is_there([&] { outside.options.repositories->drop_checkpoints(plan.repository, workflow_id); });
}

bool has_unsettled_trees(skald::Transaction& tx, const Workflow& workflow) {
  const auto trees = trees_of(tx, workflow.id);
  return std::ranges::any_of(trees, [&](const WorkTree& tree) {
    return (tree.status != TreeStatus::READY && !tree.work_id) || !refers_to(workflow, tree.git_id);
  });
}

}  // namespace agentflow
