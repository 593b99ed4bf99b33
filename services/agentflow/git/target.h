// Moves a branch that belongs to people. Who has it checked out without changes sees files and index follow; who has
// changes there keeps them, and the branch stays.
//
// Called with the repository locked.
#pragma once

#include <string>

#include "agentflow/git/command.h"

namespace agentflow {

// `from` and `to` are commits; empty: the branch is not there. Where it is at `to` already, a checkout that a crash
// kept from following does so now. Refused: TARGET_MOVED, TARGET_IN_USE.
void move_target(const GitProgram& git, const GitPlace& repository, const std::string& target, const std::string& from,
                 const std::string& to, const std::string& reason);

}  // namespace agentflow
