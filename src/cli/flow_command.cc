// skald flow …, but for logs
#include <boost/json/serialize.hpp>
#include <ostream>

#include "cli/command.h"
#include "cli/flow_await.h"
#include "cli/flow_create.h"
#include "cli/flow_diff.h"
#include "cli/flow_references.h"
#include "cli/flow_requests.h"
#include "cli/flow_views.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

using PrintFlow = void (*)(const JsonView&, std::ostream&);

struct Shown {
  std::string body;
  PrintFlow print;
};

const std::string kFlows = "/agentflow/workflows", kWorks = "/agentflow/works";

std::string segment(const Arguments& arguments, std::size_t n) {
  return n < arguments.operands.size() ? "/" + http::encode_segment(arguments.operands[n]) : "";
}

// "mcp list" of "flow mcp list".
std::string_view what_of(const Arguments& arguments) {
  return arguments.command->name.substr(std::string_view("flow ").size());
}

// The workflow with its works as they are whole.
std::string whole_workflow(const Api& api, const std::string& path) {
  boost::json::value workflow = json::parse(ask(api, "GET", path));
  const boost::json::value works = json::parse(ask(api, "GET", path + "/works"));
  if (workflow.is_object() && works.is_object())
    if (const auto* items = works.get_object().if_contains("items")) workflow.get_object()["works"] = *items;
  return boost::json::serialize(workflow);
}

std::string template_path(const Arguments& arguments, const Api& api) {
  return kTemplates.path + "/" + http::encode_segment(id_of(api, kTemplates, arguments.operands[0]));
}

std::string questions(const Arguments& arguments, const Api& api) {
  auto query = given(arguments, {"limit", "cursor"});
  if (arguments.flags.contains("work"))
    return ask(api, "GET", kWorks + "/" + http::encode_segment(arguments.flag("work")) + "/questions", query);
  query["status"] = "OPEN";
  return ask(api, "GET", "/agentflow/questions", query);
}

// Of gits, MCP servers and templates.
Shown registered_answer(const Arguments& arguments, const Api& api) {
  const std::string_view what = what_of(arguments);
  const std::string id = segment(arguments, 0);
  const auto query = given(arguments, {"limit", "cursor"});
  if (what == "gits list") return {ask(api, "GET", kGits.path, query), print_gits};
  if (what == "gits add") return {ask(api, "POST", kGits.path, {}, new_git(arguments)), print_git};
  if (what == "gits remove") return {ask(api, "DELETE", kGits.path + id), print_git};
  if (what == "mcp list") return {ask(api, "GET", kMcpServers.path, query), print_servers};
  if (what == "mcp add") return {ask(api, "POST", kMcpServers.path, {}, new_mcp_server(arguments)), print_server};
  if (what == "mcp remove") return {ask(api, "DELETE", kMcpServers.path + id), print_server};
  if (what == "templates list") return {ask(api, "GET", kTemplates.path, query), print_templates};
  if (what == "templates add") return {add_template(arguments, api), print_template};
  if (what == "templates show") return {ask(api, "GET", template_path(arguments, api)), print_template};
  if (what == "templates remove") return {ask(api, "DELETE", template_path(arguments, api)), print_template};
  return {use_template(arguments, api), print_workflow};
}

Shown answer_of(const Arguments& arguments, const Api& api) {
  const std::string_view what = what_of(arguments);
  const std::string flow = kFlows + segment(arguments, 0);
  if (what.find(' ') != what.npos) return registered_answer(arguments, api);
  if (what == "create") return {create_workflow(arguments, api), print_workflow};
  if (what == "list")
    return {ask(api, "GET", kFlows, given(arguments, {"status", "limit", "cursor"})), print_workflows};
  if (what == "show") return {whole_workflow(api, flow), print_whole_workflow};
  if (what == "modify") return {modify_workflow(arguments, api), print_workflow};
  if (what == "delete") return {ask(api, "DELETE", flow), print_workflow};
  if (what == "checkpoints") return {ask(api, "GET", flow + "/checkpoints"), print_checkpoints};
  if (what == "checkpoint") return {ask(api, "POST", flow + "/checkpoints"), print_workflow};
  if (what == "restore")
    return {ask(api, "POST", flow + "/checkpoints" + segment(arguments, 1) + "/restore"), print_workflow};
  if (what == "integrate")
    return {ask(api, "POST", flow + "/integrate", {}, new_integration(arguments)), print_workflow};
  if (what == "agents") return {ask(api, "GET", "/agentflow/agents"), print_agents};
  if (what == "questions") return {questions(arguments, api), print_questions};
  if (what == "answer") return {answer_question(arguments, api), print_question};
  if (what == "query")
    return {ask(api, "POST", kWorks + segment(arguments, 0) + "/queries", {},
                "{\"text\":" + to_json(arguments.operands[1]) + "}"),
            print_query};
  return {ask(api, "POST", flow + "/" + std::string(what)), print_workflow};  // start, pause, resume, cancel
}

// What stands in the way of an integration, by file.
void print_conflicts(const Api& api, const JsonView& workflow, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& one : workflow.member("integration").items("conflicts")) {
    const std::string name = JsonView(ask(api, "GET", kGits.path + "/" + http::encode_segment(one["gitId"])))["name"];
    for (const std::string& file : one.texts("files")) rows.push_back({name, file});
  }
  if (rows.empty()) return;
  print_table(out, {"GIT", "CONFLICT IN"}, rows, Long::wrap);
  out << '\n';
}

int follow(const Arguments& arguments, const Api& api, const Terminal& terminal, std::ostream& out) {
  const ActEnd end = follow_act(api, terminal, arguments.operands[0], std::string(what_of(arguments)));
  if (arguments.json()) {
    print_json(out, "{\"done\":" + std::string(end.done ? "true" : "false") + ",\"why\":" + to_json(end.why) +
                        ",\"workflow\":" + (end.workflow.empty() ? "null" : end.workflow) + "}");
    return end.done ? kDone : kFailed;
  }
  if (!end.workflow.empty()) print_workflow(JsonView(end.workflow), out);
  if (!end.done) {
    out << '\n';
    if (!end.workflow.empty() && what_of(arguments) == "integrate") print_conflicts(api, JsonView(end.workflow), out);
    out << printable(end.why) << '\n';
  } else if (end.workflow.empty()) {
    out << "the workflow is gone\n";
  }
  return end.done ? kDone : kFailed;
}

}  // namespace

int run_flow(const Arguments& arguments, const Api& api, const Terminal& terminal, std::ostream& out) {
  if (what_of(arguments) == "diff") {
    const std::string diff = diff_of(arguments, api);
    if (arguments.json()) print_json(out, diff);
    else print_diff(JsonView(diff), {arguments.flags.contains("stat"), terminal.colours}, out);
    return kDone;
  }
  const Shown shown = answer_of(arguments, api);
  if (arguments.flags.contains("wait")) return follow(arguments, api, terminal, out);
  if (arguments.json()) print_json(out, shown.body);
  else shown.print(JsonView(shown.body), out);
  return kDone;
}

}  // namespace skald::cli
