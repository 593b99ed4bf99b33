// What the agents of agentflow are started with.
#pragma once

#include <map>
#include <string>

#include "agentflow/agentflow.h"

namespace skald::host {

// Presets of a TOML file, one table each:
//   [reviewer]
//   command = ["reviewer-cli", "--mcp", "{mcp}", "{prompt}"]
//   variables = ["REVIEWER_KEY"]
//   timeout_seconds = 1800
//   on_question = "end"
//   question_pattern = "^QUESTION: (.*)$"
// An empty path: none. Invalid (BAD_SETTING) says what is wrong where.
std::map<std::string, agentflow::Preset> agent_presets(const std::string& path);

// Of this process; presets name those that an agent may see.
Variables own_variables();

}  // namespace skald::host
