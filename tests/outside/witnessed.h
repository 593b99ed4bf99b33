// Git and agents as they are, and a witness who is told of every call that changes something, by the names
// "git add_tree", "agent start", …. Those that only look are not told.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "agentflow/agents.h"
#include "agentflow/repositories.h"

namespace skald::test {

// Called before the call; what it returns lives until the call has ended, well or not. May wait, or end the process.
using Witness = std::function<std::shared_ptr<void>(std::string_view call)>;

std::shared_ptr<agentflow::Repositories> witnessed(std::shared_ptr<agentflow::Repositories> real, Witness witness);
std::shared_ptr<agentflow::Agents> witnessed(std::shared_ptr<agentflow::Agents> real, Witness witness);

}  // namespace skald::test
