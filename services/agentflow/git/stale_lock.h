// Lock files of git itself: "Unable to create '…/index.lock': File exists". One that is young belongs to a git that
// works (an agent's, a person's) and is waited for. An old one was left behind by a git that was killed, and is removed:
// no git holds one for longer than moments, but for a commit with slow hooks, and agents are not at work when we change
// their worktree. Old is one that we have looked at for long: times of files come from a clock that jumps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agentflow/git/command.h"

namespace agentflow {

// The lock file that git's words complain about; none where it is something else, or lies outside of the repository.
std::optional<std::string> git_lock_in_the_way(std::string_view words, const GitPlace& place);

// Returns when it is gone, or old and removed. Unavailable (GIT_BUSY) at `end`.
void await_git_lock(const skald::Clock& clock, const std::string& lock, skald::Instant end);

}  // namespace agentflow
