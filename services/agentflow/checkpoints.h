// Checkpoints over all worktrees of a workflow, as sagas take them.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// The workflow's own that can be worked with, sorted.
std::vector<TreePlan> ready_trees(skald::Transaction& tx, const std::string& workflow_id);
// Those that the work works in: its own where it is one of a group.
std::vector<TreePlan> ready_trees(skald::Transaction& tx, const Work& work);
// The same with those that are on their way out: until the work has ended they are in use.
std::vector<TreePlan> trees_in_use(skald::Transaction& tx, const Work& work);
// The commit that the checkpoint has of that git.
std::optional<std::string> commit_in(const std::optional<Checkpoint>& checkpoint, const std::string& git_id);

// Of one worktree, into `tree.commit`. The name makes it one, however often it is taken.
void take_checkpoint(const Outside& outside, const std::string& workflow_id, const std::string& checkpoint_id,
                     TreePlan& tree);
skald::RawJson commits_of(const std::vector<TreePlan>& trees);
// Appends it and says so; nothing where it is there.
void keep_checkpoint(skald::Transaction& tx, const Checkpoint& taken);

// A call of git in a remote step. Input that git cannot be given is a refusal, not an unknown end.
template <class Call>
void ask_git(Call&& call) {
  try {
    call();
  } catch (const skald::Invalid& invalid) {
    throw skald::Refused(invalid.code(), invalid.what());
  }
}

// A call of git that changes what others see. It counts as refused only where nothing of it is left: what git has done
// before it failed is taken back here, and where nobody knows (git was killed, or took too long) it is asked again.
template <class Call, class Back>
void change_by_git(Call&& call, Back&& back) {
  try {
    ask_git(call);
  } catch (const skald::Unavailable& away) {
    if (away.code() == "GIT_BUSY") throw;  // it has not begun
    throw skald::CommitUnknown(away.code(), away.what());
  } catch (const skald::Refused& refused) {
    if (refused.code() != "GIT_FAILED") throw;
    try {
      back();
    } catch (const skald::Error& stuck) {
      throw skald::CommitUnknown(stuck.code(),
                                 std::string(refused.what()) + "; it cannot be taken back: " + stuck.what());
    }
    throw;
  }
}

}  // namespace agentflow
