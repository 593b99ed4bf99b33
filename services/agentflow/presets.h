// Agents as configuration: what is started for a task.
#pragma once

#include <string>

#include "agentflow/agentflow.h"

namespace agentflow {

struct Assignment {
  std::string run, agent, prompt, folder, space, mcp_file, workflow_id, work_id;
  std::string mailbox = {};  // empty: it has none
  int n = 0, attempt = 1;
  Ports ports = {};
};

// `shell` and `scripted`, where nobody has given others of these names.
void add_shipped_presets(Options& options);
bool has_preset(const Options& options, const std::string& name);
const Preset* find_preset(const Options& options, const std::string& name);  // null: there is none

const Preset& preset_of(const Options& options, const std::string& name);  // Refused, as spec_of()

// Of this process's variables, those that its agents see.
skald::Variables given_variables(const Options& options, const Preset& preset);

// Refused (NO_SUCH_AGENT) where there is no preset of that name.
skald::RunSpec spec_of(const Options& options, const Assignment& assignment);

}  // namespace agentflow
