// The folders that have a branch of a repository checked out, of people and of workflows.
#pragma once

#include <string>
#include <vector>

#include "agentflow/git/command.h"

namespace agentflow {

struct Checkout {
  std::string folder;
  std::string branch;      // refs/heads/…; that which is being rebased there, too
  bool rebasing = false;
};
// Those whose folder is there.
std::vector<Checkout> list_checkouts(const GitProgram& git, const GitPlace& repository);

}  // namespace agentflow
