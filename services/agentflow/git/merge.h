// Merges and rebases without a worktree: trees and commits are computed, nothing is moved. The same from the same: the
// commits that are made have the dates of those that they are made from.
#pragma once

#include <string>
#include <vector>

#include "agentflow/git/command.h"
#include "agentflow/git/commits.h"
#include "agentflow/repositories.h"

namespace agentflow {

struct MergedTree {
  std::string tree;                    // with the marks of conflicts in it, where there are any
  std::vector<std::string> conflicts;  // files
};
MergedTree merge_trees(const GitProgram& git, const GitPlace& repository, const std::string& ours,
                       const std::string& theirs);

struct RebasedCommits {
  std::string tip;                     // empty where there are conflicts
  std::vector<std::string> conflicts;  // files of the first commit that does not fit
};
// The commits of `branch` that `onto` lacks, put on it one by one. As git rebase does, merges are left out, and so is a
// commit whose change is there already.
RebasedCommits rebase_commits(const GitProgram& git, const GitPlace& repository, const GitCommit& onto,
                              const std::string& branch);

// With `base` as the one that both come from, whatever their own history says.
MergedCommit merge_git_commits(const GitProgram& git, const GitPlace& repository, const std::string& base,
                               const std::string& ours, const std::string& theirs);

bool is_ancestor(const GitProgram& git, const GitPlace& repository, const std::string& older, const std::string& newer);

}  // namespace agentflow
