// Checkpoints of a worktree: commits under refs/skald/, with HEAD as their parent.
//
// Called with the repository locked.
#pragma once

#include <string>

#include "agentflow/git/command.h"

namespace agentflow {

std::string take_git_checkpoint(const GitProgram& git, const GitPlace& place, const std::string& name);
// Every step of it starts from the commit alone: after a crash anywhere, the same call ends in the same state.
void restore_git_checkpoint(const GitProgram& git, const GitPlace& place, const std::string& branch,
                            const std::string& commit);
void drop_git_checkpoints(const GitProgram& git, const GitPlace& repository, const std::string& name);

}  // namespace agentflow
