// Git and agents in a process that dies before, during or after a chosen call that changes something. The calls are named
// "git add_tree", "agent start", …; those that only look are not counted.
#pragma once

#include <memory>

#include "agentflow/agents.h"
#include "agentflow/repositories.h"
#include "crash/fate.h"

namespace skald::crash {

std::shared_ptr<agentflow::Repositories> lethal_repositories(std::unique_ptr<agentflow::Repositories> real, Fate& fate);
std::shared_ptr<agentflow::Agents> lethal_agents(std::shared_ptr<agentflow::Agents> real, Fate& fate);

}  // namespace skald::crash
