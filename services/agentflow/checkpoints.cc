#include "agentflow/checkpoints.h"

#include "agentflow/events.h"
#include "agentflow/trees.h"

namespace agentflow {

namespace {

using Statuses = std::initializer_list<TreeStatus>;

std::vector<TreePlan> trees_with(Statuses statuses, skald::Transaction& tx, const std::string& workflow_id,
                                 const std::optional<std::string>& work_id) {
  std::vector<TreePlan> out;
  for (const WorkTree& tree : trees_of(tx, workflow_id))
    if (std::ranges::find(statuses, tree.status) != statuses.end() && tree.work_id == work_id)
      out.push_back(plan_of(tree));
  return out;
}

// Whose worktrees the work works in.
std::optional<std::string> owner_of_trees(const Work& work) {
  return work.base_checkpoint ? std::optional(work.id) : std::nullopt;
}

}  // namespace

std::vector<TreePlan> ready_trees(skald::Transaction& tx, const std::string& workflow_id) {
  return trees_with({TreeStatus::READY}, tx, workflow_id, std::nullopt);
}

std::vector<TreePlan> ready_trees(skald::Transaction& tx, const Work& work) {
  return trees_with({TreeStatus::READY}, tx, work.workflow_id, owner_of_trees(work));
}

std::vector<TreePlan> trees_in_use(skald::Transaction& tx, const Work& work) {
  return trees_with({TreeStatus::READY, TreeStatus::RELEASING}, tx, work.workflow_id, owner_of_trees(work));
}

std::optional<std::string> commit_in(const std::optional<Checkpoint>& checkpoint, const std::string& git_id) {
  if (!checkpoint) return std::nullopt;
  for (const TreeCommit& one : in_column<std::vector<TreeCommit>>(checkpoint->commits))
    if (one.git_id == git_id) return one.commit;
  return std::nullopt;
}

void take_checkpoint(const Outside& outside, const std::string& workflow_id, const std::string& checkpoint_id,
                     TreePlan& tree) {
  tree.commit = outside.options.repositories->take_checkpoint({tree.repository, tree.path, tree.branch},
                                                              workflow_id + "/" + checkpoint_id);
}

skald::RawJson commits_of(const std::vector<TreePlan>& trees) {
  std::vector<TreeCommit> commits;
  for (const TreePlan& tree : trees) commits.push_back({tree.git_id, tree.commit});
  return as_column(commits);
}

void keep_checkpoint(skald::Transaction& tx, const Checkpoint& taken) {
  if (tx.find<Checkpoint>(taken.id) || !tx.find<Workflow>(taken.workflow_id)) return;
  tx.insert(taken);
  say(tx, kCheckpointCreated, taken.workflow_id, taken.id, taken);
}

}  // namespace agentflow
