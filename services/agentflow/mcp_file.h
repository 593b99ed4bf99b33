// The mcp.json of an agent, and the other files of a workflow's space.
#pragma once

#include <string>

#include "agentflow/flow.h"

namespace agentflow {

inline constexpr std::string_view kOwnServer =
    "skald";  // its member in mcp.json; a registered server of that name wins

// Greets the servers in that folder, where that is wanted, and writes the file. With a mailbox our own server is among
// them. Throws as greet() and mcp_config(), and Unavailable (NO_SPACE_FOLDER).
void write_mcp_file(const Outside& outside, skald::Database& db, const Ids& servers, const std::string& folder,
                    const std::string& mailbox, const std::string& path);

}  // namespace agentflow
