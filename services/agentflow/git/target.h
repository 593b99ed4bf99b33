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

// What was asked before, without an answer, counts: where somebody has gone on from `to`, the target has it already.
void bring_to_target(const GitProgram& git, const GitPlace& repository, const std::string& target,
                     const std::string& from, const std::string& to, const std::string& reason);
// The way back, from `to` to `from`: a target that has never had `to` has nothing to be taken back.
void take_from_target(const GitProgram& git, const GitPlace& repository, const std::string& target,
                      const std::string& from, const std::string& to, const std::string& reason);

}  // namespace agentflow
