// skald flow gits list | gits add | gits remove | mcp list | mcp remove | create | list | show | start | pause |
// resume | cancel | delete | checkpoints | agents
#include <boost/json/serialize.hpp>
#include <ostream>

#include "cli/command.h"
#include "cli/flow_create.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

void print_gits(const JsonView& page, std::ostream& out) {
  Rows rows;
  for (const JsonView& git : page.items())
    rows.push_back({git["id"], git["name"], git["status"], std::to_string(git.items("activeWorkflowIds").size()),
                    git["path"], git["remote"], git["error"]});
  print_table(out, {"ID", "NAME", "STATUS", "USED BY", "PATH", "REMOTE", "ERROR"}, rows);
  print_more(out, page);
}

void print_git(const JsonView& git, std::ostream& out) {
  print_fields(out, git.fields({"id", "name", "status", "path", "remote", "error", "createdAt"}));
}

void print_servers(const JsonView& page, std::ostream& out) {
  Rows rows;
  for (const JsonView& server : page.items())
    rows.push_back({server["id"], server["name"], std::to_string(server.items("activeWorkflowIds").size()),
                    server["command"] + server["url"], server["args"], server["envNames"]});
  print_table(out, {"ID", "NAME", "USED BY", "COMMAND OR URL", "ARGS", "VARIABLES"}, rows);
  print_more(out, page);
}

void print_server(const JsonView& server, std::ostream& out) {
  print_fields(out, server.fields({"id", "name", "command", "args", "url", "envNames", "createdAt"}));
}

// "2 of 5"
std::string completed_works(const JsonView& workflow) {
  const auto works = workflow.items("works");
  std::size_t done = 0;
  for (const JsonView& work : works) done += work["status"] == "COMPLETED" ? 1 : 0;
  return std::to_string(done) + " of " + std::to_string(works.size());
}

void print_workflows(const JsonView& page, std::ostream& out) {
  Rows rows;
  for (const JsonView& one : page.items())
    rows.push_back(
        {one["id"], one["name"], one["status"], completed_works(one), one["agent"], one["createdAt"], one["error"]});
  print_table(out, {"ID", "NAME", "STATUS", "WORKS DONE", "AGENT", "CREATED", "ERROR"}, rows);
  print_more(out, page);
}

// Paths are not cut: somebody copies them.
void print_about(const JsonView& workflow, std::ostream& out) {
  auto fields = workflow.fields(
      {"id", "name", "status", "allowed", "agent", "error", "space", "sagaId", "createdAt", "updatedAt"});
  for (const JsonView& tree : workflow.items("workTrees")) {
    const std::string error = tree["error"];
    fields.emplace_back("worktree", tree["path"] + " is " + tree["status"] + ", branch " + tree["branch"] +
                                        (error.empty() ? "" : ": " + error));
  }
  print_fields(out, fields);
  out << '\n';
}

void print_workflow(const JsonView& workflow, std::ostream& out) {
  print_about(workflow, out);
  Rows rows;
  for (const JsonView& work : workflow.items("works")) rows.push_back({work["id"], work["name"], work["status"]});
  print_table(out, {"WORK", "NAME", "STATUS"}, rows);
}

// A row for each task; its work stands in the first of them.
void print_whole_workflow(const JsonView& workflow, std::ostream& out) {
  print_about(workflow, out);
  Rows rows;
  for (const JsonView& work : workflow.items("works")) {
    std::vector<std::string> about = {work["id"], work["name"], work["status"]};
    for (const JsonView& task : work.items("tasks")) {
      rows.push_back({about[0], about[1], about[2], task["n"], task["status"], task["outcome"], task["exitCode"],
                      task["attempt"], task["startedAt"], task["finishedAt"], task["error"]});
      about = {"", "", ""};
    }
  }
  print_table(
      out,
      {"WORK", "NAME", "STATUS", "TASK", "TASK STATUS", "OUTCOME", "EXIT", "TRIES", "STARTED", "FINISHED", "ERROR"},
      rows);
}

void print_checkpoints(const JsonView& page, std::ostream& out) {
  Rows rows;
  for (const JsonView& one : page.items())
    for (const JsonView& commit : one.items("commits"))
      rows.push_back({one["id"], one["workId"], one["createdAt"], commit["gitId"], commit["commit"]});
  print_table(out, {"ID", "WORK", "CREATED", "GIT", "COMMIT"}, rows);
}

void print_agents(const JsonView& agents, std::ostream& out) {
  print_fields(out, agents.fields({"presets"}));
  Rows rows;
  for (const JsonView& one : agents.items("running"))
    rows.push_back({one["workId"], one["n"], one["pid"], one["startedAt"], one["outputBytes"], one["run"]});
  out << '\n';
  print_table(out, {"WORK", "TASK", "PID", "STARTED", "OUTPUT BYTES", "RUN"}, rows);
}

std::string new_git(const Arguments& arguments) {
  const bool has_path = arguments.flags.contains("path");
  if (has_path == arguments.flags.contains("remote"))
    throw Invalid("USAGE", "skald flow gits add needs either --path PATH or --remote URL");
  const std::string how = has_path ? "path" : "remote";
  return "{\"name\":" + to_json(arguments.operands[0]) + ",\"" + how + "\":" + to_json(arguments.flag(how)) + "}";
}

// The workflow with its works as they are whole.
std::string whole_workflow(const Api& api, const std::string& path) {
  boost::json::value workflow = json::parse(ask(api, "GET", path));
  const boost::json::value works = json::parse(ask(api, "GET", path + "/works"));
  if (workflow.is_object() && works.is_object())
    if (const auto* items = works.get_object().if_contains("items")) workflow.get_object()["works"] = *items;
  return boost::json::serialize(workflow);
}

struct Shown {
  std::string body;
  void (*print)(const JsonView&, std::ostream&);
};

Shown answer_of(const Arguments& arguments, const Api& api) {
  std::string_view what = arguments.command->name;
  what.remove_prefix(std::string_view("flow ").size());
  const std::string id = arguments.operands.empty() ? "" : "/" + http::encode_segment(arguments.operands[0]);
  const std::string gits = "/agentflow/gits", servers = "/agentflow/mcp-servers", flows = "/agentflow/workflows";
  const auto query = given(arguments, {"status", "limit", "cursor"});
  if (what == "gits list") return {ask(api, "GET", gits, query), print_gits};
  if (what == "gits add") return {ask(api, "POST", gits, {}, new_git(arguments)), print_git};
  if (what == "gits remove") return {ask(api, "DELETE", gits + id), print_git};
  if (what == "mcp list") return {ask(api, "GET", servers, query), print_servers};
  if (what == "mcp remove") return {ask(api, "DELETE", servers + id), print_server};
  if (what == "create") return {create_workflow(arguments, api), print_workflow};
  if (what == "list") return {ask(api, "GET", flows, query), print_workflows};
  if (what == "show") return {whole_workflow(api, flows + id), print_whole_workflow};
  if (what == "delete") return {ask(api, "DELETE", flows + id), print_workflow};
  if (what == "checkpoints") return {ask(api, "GET", flows + id + "/checkpoints"), print_checkpoints};
  if (what == "agents") return {ask(api, "GET", "/agentflow/agents"), print_agents};
  return {ask(api, "POST", flows + id + "/" + std::string(what)), print_workflow};  // start, pause, resume, cancel
}

}  // namespace

int run_flow(const Arguments& arguments, const Api& api, std::ostream& out) {
  const Shown shown = answer_of(arguments, api);
  if (arguments.json()) print_json(out, shown.body);
  else shown.print(JsonView(shown.body), out);
  return kDone;
}

}  // namespace skald::cli
