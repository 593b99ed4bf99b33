// What lies in a worktree, as a tree of git's: files that are new or changed, not ignored ones. Made with a scratch index,
// so that HEAD, index and files stay untouched, and beside an agent that works there.
//
// Links are stored as links. Submodules and repositories inside of the worktree are stored as the commit that they are
// at; one without a commit is left out.
#pragma once

#include <string>

#include "agentflow/git/command.h"

namespace agentflow {

// The tree's id.
std::string snapshot_tree(const GitProgram& git, const GitPlace& place);

// Puts all of it into an index: the worktree's own, or the one that `input` names.
void add_everything(const GitProgram& git, const GitPlace& place, const GitInput& input);

}  // namespace agentflow
