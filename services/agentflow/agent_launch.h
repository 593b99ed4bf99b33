// Starting the process of an agent, for a task or for a query: what it is given, in confidence or not, and its sandbox.
#pragma once

#include <optional>
#include <string>

#include "agentflow/flow.h"
#include "agentflow/presets.h"

namespace agentflow {

// What is to be told of it, mostly nothing: that it runs without the sandbox that is wanted. Throws as spec_of(),
// sandbox_view() and Agents::start(); Refused (NO_SANDBOX) where one is required and this machine has none.
std::optional<std::string> launch_agent(const Outside& outside, skald::Database& db, const Assignment& assignment,
                                        const Ids& mcp_servers);

}  // namespace agentflow
