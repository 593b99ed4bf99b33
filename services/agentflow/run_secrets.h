// What an agent is given in confidence. It is *** in its output and in whatever else it says (skald/secret_mask.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentflow/flow.h"

namespace agentflow {

// Whether a variable of that name is a secret: one of the patterns fits it, where * stands for any text and capitals count
// as small letters do.
bool is_secret_name(const std::vector<std::string>& patterns, std::string_view name);

// Those of the variables that the agent is handed, and those of the MCP servers that are stored as references, each as it
// is and as JSON would have it. What cannot be read just now is passed over: an agent is not started without it.
std::vector<std::string> secrets_of(const Options& options, skald::Transaction& tx, const std::string& agent,
                                    const Ids& mcp_servers);
// Of a run that is under way; none where there is no such work any more.
std::vector<std::string> secrets_of_run(const Options& options, skald::Transaction& tx, const std::string& run);

}  // namespace agentflow
