// What differs between two commits or trees, by git's plumbing: no setting of a repository changes how it looks.
#pragma once

#include <string>

#include "agentflow/git/command.h"
#include "agentflow/repositories.h"

namespace agentflow {

Diff git_diff(const GitProgram& git, const GitPlace& place, const std::string& from, const std::string& to,
              std::size_t text_max);

}  // namespace agentflow
