// A clone, whole or not at all: made in a folder beside, .{name}.skald-clone, which is locked meanwhile, and renamed. One
// that a killed call has left there is found unlocked, and made anew.
#pragma once

#include <string>

#include "agentflow/git/command.h"

namespace agentflow {

// A folder is cloned through git's transport, not by hard links: damage in one repository must not show in the other,
// and a repository that is being changed is read as a whole. Where there is a clone of that remote already: nothing.
// Refused (TREE_TAKEN) where something else lies there.
void clone_git_repository(const GitProgram& git, const std::string& remote, const std::string& path);

}  // namespace agentflow
