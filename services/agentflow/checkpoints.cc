#include "agentflow/checkpoints.h"

#include "agentflow/events.h"
#include "agentflow/trees.h"

namespace agentflow {

std::vector<TreePlan> ready_trees(skald::Transaction& tx, const std::string& workflow_id) {
  std::vector<TreePlan> out;
  for (const WorkTree& tree : trees_of(tx, workflow_id))
    if (tree.status == TreeStatus::READY) out.push_back(plan_of(tree));
  return out;
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
