#include "agentflow/run_secrets.h"

#include "agentflow/mcp.h"
#include "agentflow/presets.h"
#include "agentflow/task_end.h"

namespace agentflow {
namespace {

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The last * that was met takes one character more whenever what follows it does not fit.
bool fits_name(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = pattern.npos, resumed = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, resumed = n;
    } else if (p < pattern.size() && small(pattern[p]) == small(name[n])) {
      ++p, ++n;
    } else if (star != pattern.npos) {
      p = star + 1, n = ++resumed;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

void add_secret(std::vector<std::string>& to, const std::string& value) {
  to.push_back(value);
  const std::string quoted = skald::to_json(value);
  if (const std::string inside = quoted.substr(1, quoted.size() - 2); inside != value) to.push_back(inside);
}

void add_mcp_secrets(std::vector<std::string>& to, const McpServer& server) {
  for (const auto& [name, stored] : in_column<skald::Variables>(server.variables)) {
    try {
      const std::string value = resolve_variables({{name, stored}}).at(name);
      if (value != stored) add_secret(to, value);
    } catch (const skald::Refused&) {}
  }
}

}  // namespace

bool is_secret_name(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return fits_name(pattern, name); });
}

std::vector<std::string> secrets_of(const Options& options, skald::Transaction& tx, const std::string& agent,
                                    const Ids& mcp_servers) {
  std::vector<std::string> out;
  if (const Preset* const preset = find_preset(options, agent))
    for (const auto& [name, value] : given_variables(options, *preset))
      if (is_secret_name(options.secret_variables, name)) add_secret(out, value);
  for (const std::string& id : mcp_servers)
    if (const auto server = tx.find<McpServer>(id)) add_mcp_secrets(out, *server);
  return out;
}

std::vector<std::string> secrets_of_run(const Options& options, skald::Transaction& tx, const std::string& run) {
  const auto name = run_named(run);
  const auto work = name ? tx.find<Work>(name->work_id) : std::nullopt;
  const auto workflow = work ? tx.find<Workflow>(work->workflow_id) : std::nullopt;
  if (!workflow) return {};
  const Tasks tasks = in_column<Tasks>(work->tasks);
  const auto task = std::ranges::find(tasks, name->n, &Task::n);
  const std::string agent = task == tasks.end() ? workflow->agent : task->agent.value_or(workflow->agent);
  return secrets_of(options, tx, agent, in_column<Ids>(work->mcp_server_refs));
}

}  // namespace agentflow
