#include "cli/flow_create.h"

#include "cli/flow_file.h"
#include "cli/flow_references.h"
#include "cli/json_view.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

std::string start(const Api& api, const std::string& id) {
  try {
    return ask(api, "POST", "/agentflow/workflows/" + http::encode_segment(id) + "/start");
  } catch (const Refused& error) {
    throw Refused(error.code(), "workflow " + id + " is created and not started: " + error.what());
  } catch (const Unavailable& error) {
    throw Unavailable(error.code(), "workflow " + id + " is created, and perhaps not started: " + error.what());
  }
}

std::string started_if_asked(const Arguments& arguments, const Api& api, const std::string& created) {
  return arguments.flags.contains("start") ? start(api, JsonView(created)["id"]) : created;
}

WorkflowFile resolved_file(const Arguments& arguments, const Api& api) {
  WorkflowFile file = read_workflow(arguments.operands[0]);
  resolve_references(api, file);
  return file;
}

// Empty where there is none of the file's name.
std::string template_of_name(const Api& api, const WorkflowFile& file) {
  const auto* name = file.body.if_contains("name");
  if (name == nullptr || !name->is_string()) return "";
  const auto found = JsonView(ask(api, "GET", kTemplates.path, {{"name", std::string(name->get_string())}})).items();
  return found.empty() ? "" : found[0]["id"];
}

}  // namespace

std::string create_workflow(const Arguments& arguments, const Api& api) {
  return started_if_asked(arguments, api,
                          send_file(api, "POST", "/agentflow/workflows", resolved_file(arguments, api)));
}

std::string use_template(const Arguments& arguments, const Api& api) {
  const std::string path = kTemplates.path + "/" + http::encode_segment(id_of(api, kTemplates, arguments.operands[0]));
  return started_if_asked(
      arguments, api, ask(api, "POST", path + "/instantiate", {}, "{\"name\":" + to_json(arguments.operands[1]) + "}"));
}

std::string add_template(const Arguments& arguments, const Api& api) {
  const WorkflowFile file = resolved_file(arguments, api);
  const std::string known = arguments.flags.contains("replace") ? template_of_name(api, file) : "";
  if (known.empty()) return send_file(api, "POST", kTemplates.path, file);
  return send_file(api, "PUT", kTemplates.path + "/" + http::encode_segment(known), file);
}

}  // namespace skald::cli
