#include "agentflow/checkpoints.h"

#include "agentflow/events.h"
#include "agentflow/trees.h"

namespace agentflow {

namespace {

std::vector<TreePlan> ready_trees_of(skald::Transaction& tx, const std::string& workflow_id,
                                     const std::optional<std::string>& work_id) {
  std::vector<TreePlan> out;
  for (const WorkTree& tree : trees_of(tx, workflow_id))
    if (tree.status == TreeStatus::READY && tree.work_id == work_id) out.push_back(plan_of(tree));
  return out;
}

}  // namespace

std::vector<TreePlan> ready_trees(skald::Transaction& tx, const std::string& workflow_id) {
  return ready_trees_of(tx, workflow_id, std::nullopt);
}

std::vector<TreePlan> ready_trees(skald::Transaction& tx, const Work& work) {
  return ready_trees_of(tx, work.workflow_id, work.base_checkpoint ? std::optional(work.id) : std::nullopt);
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
