#include "cli/flow_create.h"

#include <boost/json/serialize.hpp>

#include "cli/flow_file.h"
#include "cli/json_view.h"
#include "http/target.h"
#include "skald/id.h"
#include "skald/text.h"

namespace skald::cli {
namespace {

// What can stand in a file by its name.
struct Registered {
  std::string path, what, list;  // "/agentflow/gits", "git", "skald flow gits list"
};

bool is_there(const Api& api, const std::string& path) {
  try {
    ask(api, "GET", path);
    return true;
  } catch (const Refused& error) {
    if (error.code().ends_with("_NOT_FOUND")) return false;
    throw;
  }
}

// Replaces names by ids. A name wins over the same text as an id.
class References {
 public:
  References(const Api& api, WorkflowFile& file) : api_(api), file_(file) {}

  // Whatever has another shape is left as it is: the server says what it should be.
  void resolve() {
    for_each(file_.body, "gitRefs", "", [this](boost::json::value& ref, const std::string& at) {
      if (auto* object = ref.if_object())
        if (auto* id = object->if_contains("gitId")) name_to_id(*id, kGits, at + "/gitId");
    });
    for_each(file_.body, "works", "", [this](boost::json::value& work, const std::string& at) {
      if (auto* object = work.if_object())
        for_each(*object, "mcpServerRefs", at,
                 [this](boost::json::value& ref, const std::string& place) { name_to_id(ref, kServers, place); });
    });
  }

 private:
  template <class Use>
  static void for_each(boost::json::object& object, const std::string& name, const std::string& at, const Use& use) {
    auto* found = object.if_contains(name);
    if (found == nullptr || !found->is_array()) return;
    std::size_t n = 0;
    for (boost::json::value& element : found->get_array()) use(element, at + "/" + name + "/" + std::to_string(n++));
  }

  void name_to_id(boost::json::value& value, const Registered& kind, const std::string& at) {
    if (!value.is_string()) return;
    const std::string name(value.get_string());
    auto [known, is_new] = ids_.try_emplace({kind.path, name});
    if (is_new) known->second = look_up(name, kind, at);
    value = known->second;
  }

  std::string look_up(const std::string& name, const Registered& kind, const std::string& at) const {
    const auto found = JsonView(ask(api_, "GET", kind.path, {{"name", name}})).items();
    if (!found.empty()) return found[0]["id"];
    if (is_id(name) && is_there(api_, kind.path + "/" + http::encode_segment(name))) return name;
    throw Invalid("BAD_REFERENCE", file_.place(at) + ": at " + at + ": there is no " + kind.what +
                                       " of the name or id '" + cut_text(name, 100) + "'; `" + kind.list +
                                       "` lists them");
  }

  inline static const Registered kGits{"/agentflow/gits", "git", "skald flow gits list"};
  inline static const Registered kServers{"/agentflow/mcp-servers", "MCP server", "skald flow mcp list"};

  const Api& api_;
  WorkflowFile& file_;
  std::map<std::pair<std::string, std::string>, std::string> ids_;
};

// Of "at /works/0/name: expected …".
std::string pointer_in(const std::string& detail) {
  if (!detail.starts_with("at /")) return "";
  return detail.substr(3, detail.find(':') - 3);
}

std::string send(const Api& api, const WorkflowFile& file) {
  try {
    return ask(api, "POST", "/agentflow/workflows", {}, boost::json::serialize(file.body));
  } catch (const Refused& error) {
    throw Refused(error.code(), file.place(pointer_in(error.what())) + ": " + error.what());
  }
}

std::string start(const Api& api, const std::string& id) {
  try {
    return ask(api, "POST", "/agentflow/workflows/" + http::encode_segment(id) + "/start");
  } catch (const Refused& error) {
    throw Refused(error.code(), "workflow " + id + " is created and not started: " + error.what());
  } catch (const Unavailable& error) {
    throw Unavailable(error.code(), "workflow " + id + " is created, and perhaps not started: " + error.what());
  }
}

}  // namespace

std::string create_workflow(const Arguments& arguments, const Api& api) {
  WorkflowFile file = read_workflow(arguments.operands[0]);
  References(api, file).resolve();
  const std::string created = send(api, file);
  return arguments.flags.contains("start") ? start(api, JsonView(created)["id"]) : created;
}

}  // namespace skald::cli
