// A workflow's branch on its way home: what is left is committed, and what the target would become is computed.
#pragma once

#include <string>

#include "agentflow/git/command.h"
#include "agentflow/repositories.h"

namespace agentflow {

// Called with the repository locked. Refused (BRANCH_LEFT) where the worktree is at a commit that does not follow from
// its branch.
std::string commit_git_rest(const GitProgram& git, const GitPlace& place, const std::string& branch,
                            const std::string& message);
// A merge is always a commit of its own, with the integration's message, so that one revert takes it back.
IntegrationTrial try_git_integration(const GitProgram& git, const GitPlace& repository, const std::string& branch,
                                     const Integration& integration);

}  // namespace agentflow
