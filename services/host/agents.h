// What the agents of agentflow are started with.
#pragma once

#include <map>
#include <optional>
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
//   output_max_bytes = 10_000_000
//   cost_json = "usage.total_cost"     # or cost_pattern = 'cost: \$([0-9.]+)'
//   cost_max = 2.5
//   restore_before_retry = false
//   sandbox = "required"               # or wanted, or off
//   network = false
//   readable = ["~/.reviewer"]
// An empty path: none. Invalid (BAD_SETTING) says what is wrong where.
std::map<std::string, agentflow::Preset> agent_presets(const std::string& path);

// How supervisors of agents are started: by skald-agent-run, which lies beside this program, and always by the one that
// lay there at this call, also when another version is installed meanwhile. Where there is none, by this program.
std::vector<std::string> supervisor_command();

// Where a preset has a sandbox that this machine has not.
std::optional<std::string> sandbox_warning(const Clock& clock, const std::map<std::string, agentflow::Preset>& presets);

// Of this process; presets name those that an agent may see.
Variables own_variables();

}  // namespace skald::host
