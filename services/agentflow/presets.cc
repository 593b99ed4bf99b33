#include "agentflow/presets.h"

namespace agentflow {
namespace {

constexpr std::string_view kAlways[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"};

}  // namespace

const Preset& preset_of(const Options& options, const std::string& name) {
  if (const Preset* const found = find_preset(options, name)) return *found;
  std::string known = "shell, scripted";
  for (const auto& [other, preset] : options.presets) known += ", " + other;
  throw skald::Refused("NO_SUCH_AGENT", "there is no agent " + name + "; this server has " + known);
}

namespace {

// An agent that runs for the second time is told so: what it finds may be half of its own work.
std::string prompt_for(const Assignment& assignment) {
  if (assignment.attempt <= 1 || assignment.agent == "shell" || assignment.agent == "scripted")
    return assignment.prompt;
  return assignment.prompt +
         "\n\nThis is a second try: the first was interrupted, and what it left may lie in the working folder.";
}

// Each name between braces once; what is put in is not looked at again.
std::string filled(const std::string& word, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = word[at] == '{' ? word.find('}', at) : word.npos;
    const auto value = end == word.npos ? values.end() : values.find(word.substr(at + 1, end - at - 1));
    if (value == values.end()) {
      out += word[at++];
    } else {
      out += value->second;
      at = end + 1;
    }
  }
  return out;
}

}  // namespace

bool has_preset(const Options& options, const std::string& name) { return find_preset(options, name) != nullptr; }

const Preset* find_preset(const Options& options, const std::string& name) {
  const auto found = options.presets.find(name);
  return found == options.presets.end() ? nullptr : &found->second;
}

void add_shipped_presets(Options& options) {
  options.presets.try_emplace("shell", Preset{.argv = {"sh", "-eu", "-s"}});
  if (!options.program.empty())
    options.presets.try_emplace("scripted",
                                Preset{.argv = {options.program, "agent-script"}, .cost_pattern = "^cost: ([0-9.]+)$"});
}

skald::Variables given_variables(const Options& options, const Preset& preset) {
  skald::Variables out;
  const auto pass = [&](std::string_view name) {
    if (const auto found = options.variables.find(std::string(name)); found != options.variables.end())
      out.insert(*found);
  };
  for (const std::string_view name : kAlways) pass(name);
  for (const std::string& name : preset.variables) pass(name);
  return out;
}

skald::RunSpec spec_of(const Options& options, const Assignment& assignment) {
  const Preset& preset = preset_of(options, assignment.agent);
  const std::string prompt = prompt_for(assignment);
  const std::map<std::string, std::string> values = {
      {"prompt", prompt}, {"space", assignment.space}, {"mcp", assignment.mcp_file}};
  skald::RunSpec spec{.id = assignment.run,
                      .argv = {},
                      .folder = assignment.folder,
                      .timeout = preset.timeout,
                      .output_max = preset.output_max};
  bool told = false;
  for (const std::string& word : preset.argv) {
    told = told || word.find("{prompt}") != word.npos;
    spec.argv.push_back(filled(word, values));
  }
  if (!told) spec.input = prompt;
  spec.variables = given_variables(options, preset);
  spec.variables["SKALD_SPACE"] = assignment.space;
  spec.variables["SKALD_WORKFLOW"] = assignment.workflow_id;
  spec.variables["SKALD_WORK"] = assignment.work_id;
  spec.variables["SKALD_TASK"] = std::to_string(assignment.n);
  spec.variables["SKALD_MCP"] = assignment.mcp_file;
  if (!assignment.mailbox.empty()) spec.variables["SKALD_MAILBOX"] = assignment.mailbox;
  for (std::size_t i = 0; i < assignment.ports.size(); ++i)
    spec.variables["SKALD_PORT_" + std::to_string(i + 1)] = std::to_string(assignment.ports[i]);
  return spec;
}

}  // namespace agentflow
