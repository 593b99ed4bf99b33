#include <set>

#include "agentflow/views.h"
#include "skald/controls.h"
#include "skald/id.h"

namespace agentflow {
namespace {

using skald::Invalid;

void check_text(const char* code, const char* what, const std::string& text, std::size_t bytes_max,
                std::string_view allowed = {}) {
  if (text.empty() || text.size() > bytes_max || skald::has_controls(text, allowed))
    throw Invalid(
        code, std::string(what) + " must be 1 to " + std::to_string(bytes_max) + " bytes without control characters");
}

// A name is a folder's name in the workflow's space, too.
bool is_folder_name(const std::string& name) {
  return name.find('/') == name.npos && name != "." && name != ".." && name[0] != '-' && name[0] != '.';
}

void check_work(const NewWork& work) {
  check_text("BAD_NAME", "the name of a work", work.name, kNameMax);
  if (work.tasks.empty() || work.tasks.size() > kTasksMax)
    throw Invalid("BAD_TASKS", "a work has 1 to " + std::to_string(kTasksMax) + " tasks");
  for (const NewTask& task : work.tasks) {
    check_text("BAD_PROMPT", "a prompt", task.prompt, kPromptMax, "\n\r\t");
    if (task.agent) check_text("BAD_AGENT", "the name of an agent", *task.agent, kNameMax);
  }
  if (work.parallel) check_text("BAD_PARALLEL", "parallel", *work.parallel, kNameMax);
  if (!work.mcp_server_refs) return;
  if (work.mcp_server_refs->size() > kRefsMax)
    throw Invalid("BAD_REFERENCE", "a work uses at most " + std::to_string(kRefsMax) + " MCP servers");
  for (const std::string& id : *work.mcp_server_refs)
    if (!skald::is_id(id)) throw Invalid("BAD_REFERENCE", "mcpServerRefs are the ids of registered MCP servers");
}

}  // namespace

void check_name(const std::string& name) {
  check_text("BAD_NAME", "name", name, kNameMax);
  if (!is_folder_name(name))
    throw Invalid("BAD_NAME", "name becomes the name of a folder: no '/', and no '.' or '-' at its beginning");
}

void check(const NewGit& git) {
  check_name(git.name);
  if (git.remote.has_value() == git.path.has_value())
    throw Invalid("BAD_GIT", "a git has either a remote, which is cloned, or the path of a repository on this machine");
  if (git.path) {
    check_text("BAD_PATH", "path", *git.path, kPathMax);
    if ((*git.path)[0] != '/') throw Invalid("BAD_PATH", "path must be absolute: begin it with /");
  } else check_text("BAD_REMOTE", "remote", *git.remote, kPathMax);
}

void check(const NewMcpServer& server) {
  check_name(server.name);
  if (server.command.has_value() == server.url.has_value())
    throw Invalid("BAD_MCP_SERVER", "an MCP server has either a command with args, or a url");
  if (server.command) check_text("BAD_MCP_SERVER", "command", *server.command, kPathMax);
  if (server.url && !server.url->starts_with("http://") && !server.url->starts_with("https://"))
    throw Invalid("BAD_MCP_SERVER", "url must begin with https:// or http://");
  if (server.args && server.args->size() > kRefsMax)
    throw Invalid("BAD_MCP_SERVER", "a command has at most " + std::to_string(kRefsMax) + " args");
  for (const std::string& word : server.args.value_or(std::vector<std::string>{}))
    if (word.size() > kPathMax || word.find('\0') != word.npos)
      throw Invalid("BAD_MCP_SERVER", "an arg is at most " + std::to_string(kPathMax) + " bytes without NUL");
  for (const auto& [name, value] : server.env.value_or(skald::Variables{}))
    if (name.empty() || name.find('=') != name.npos || skald::has_controls(name) || value.size() > kPathMax ||
        value.find('\0') != value.npos)
      throw Invalid("BAD_MCP_SERVER", "env has names without '=' and values of at most " + std::to_string(kPathMax) +
                                          " bytes without NUL");
}

void check(const Plan& plan) {
  if (plan.agent) check_text("BAD_AGENT", "the name of an agent", *plan.agent, kNameMax);
  if (plan.works.empty() || plan.works.size() > kWorksMax)
    throw Invalid("BAD_WORKS", "a workflow has 1 to " + std::to_string(kWorksMax) + " works");
  if (plan.git_refs.empty() || plan.git_refs.size() > kRefsMax)
    throw Invalid("BAD_REFERENCE", "a workflow works on 1 to " + std::to_string(kRefsMax) + " repositories");
  if (plan.ports && (*plan.ports < 0 || *plan.ports > kPortsMax))
    throw Invalid("BAD_PORTS", "ports, how many of them a workflow wants, is from 0 to " + std::to_string(kPortsMax));
  std::set<std::string> seen;
  for (const GitRef& ref : plan.git_refs) {
    if (!skald::is_id(ref.git_id)) throw Invalid("BAD_REFERENCE", "gitRefs name registered gits by gitId");
    if (!seen.insert(ref.git_id).second) throw Invalid("BAD_REFERENCE", "gitRefs name each git once");
    if (ref.base_branch) check_text("BAD_BRANCH", "baseBranch", *ref.base_branch, 250);
  }
  for (const NewWork& work : plan.works) check_work(work);
}

}  // namespace agentflow
