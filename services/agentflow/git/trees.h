// Worktrees of workflows. What is ours is marked: the branch by a ref refs/skald-trees/{branch} at the commit that it
// began at, made before the branch and removed after it; the worktree by a file `skald` in its git folder, written when it
// is whole. So a call that comes after a crash knows what to take up, what to clear away, and what to leave alone.
//
// Called with the repository locked.
#pragma once

#include "agentflow/git/command.h"
#include "agentflow/repositories.h"

namespace agentflow {

void add_git_tree(const GitProgram& git, const GitPlace& repository, const Tree& tree, const std::string& base);
// Where a person has the branch checked out elsewhere, the worktree goes and the branch stays: Refused (BRANCH_IN_USE).
void remove_git_tree(const GitProgram& git, const GitPlace& repository, const Tree& tree);
bool has_git_tree(const GitPlace& repository, const Tree& tree);

}  // namespace agentflow
