// Worktrees of a workflow as sagas plan, make and remove them.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

TreePlan plan_of(const Outside& outside, skald::Transaction& tx, const std::string& workflow_id, const GitRef& ref);
TreePlan plan_of(const WorkTree& row);
// PENDING: a row stands before git is asked, so that nothing on disk is unknown to the database.
WorkTree row_of(const std::string& workflow_id, const TreePlan& plan);

// The commit that it is to begin at.
void find_base(const Outside& outside, TreePlan& plan);
void add_tree(const Outside& outside, TreePlan& plan);
// With its branch. A repository that has vanished has nothing of ours left.
void remove_branch(const Outside& outside, const TreePlan& plan);
// The same, with all checkpoints of the workflow in that repository.
void remove_tree(const Outside& outside, const std::string& workflow_id, const TreePlan& plan);

// Whether `settle` has something to do once no work runs: a worktree that is not READY, or that no ref names any more.
bool has_unsettled_trees(skald::Transaction& tx, const Workflow& workflow);

}  // namespace agentflow
