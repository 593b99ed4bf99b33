// What somebody who may commit in a worktree, and do nothing else to its repository, has to be able to write.
//
// Hooks, configuration, HEAD and the branches of people stay out of reach. Of the worktree's own folder in the repository
// all may be written but the files that say where the repository is: git runs what a configuration tells it to, and ours
// runs outside of the sandbox (docs/decisions/0030).
#pragma once

#include <string>
#include <vector>

#include "agentflow/repositories.h"

namespace agentflow {

struct CommitPlaces {
  std::string repository;  // the folder that all worktrees share, to be read
  std::vector<std::string> writable;  // folders; all are there
  std::vector<std::string> fixed;  // files in them that are to be read only; all are there
};

// Makes those that git makes when it needs them. Throws as Repositories does.
CommitPlaces commit_places(const Tree& tree);

}  // namespace agentflow
