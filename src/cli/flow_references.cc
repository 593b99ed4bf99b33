#include "cli/flow_references.h"

#include <boost/json/serialize.hpp>

#include "cli/json_view.h"
#include "http/target.h"
#include "skald/id.h"
#include "skald/text.h"

namespace skald::cli {
namespace {

bool is_there(const Api& api, const std::string& path) {
  try {
    ask(api, "GET", path);
    return true;
  } catch (const Refused& error) {
    if (error.code().ends_with("_NOT_FOUND")) return false;
    throw;
  }
}

class References {
 public:
  References(const Api& api, WorkflowFile& file) : api_(api), file_(file) {}

  void resolve() {
    for_each(file_.body, "gitRefs", "", [this](boost::json::value& ref, const std::string& at) {
      if (auto* object = ref.if_object())
        if (auto* id = object->if_contains("gitId")) name_to_id(*id, kGits, at + "/gitId");
    });
    for_each(file_.body, "works", "", [this](boost::json::value& work, const std::string& at) {
      if (auto* object = work.if_object())
        for_each(*object, "mcpServerRefs", at,
                 [this](boost::json::value& ref, const std::string& place) { name_to_id(ref, kMcpServers, place); });
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
    try {
      return id_of(api_, kind, name);
    } catch (const Invalid& error) {
      throw Invalid(error.code(), file_.place(at) + ": at " + at + ": " + error.what());
    }
  }

  const Api& api_;
  WorkflowFile& file_;
  std::map<std::pair<std::string, std::string>, std::string> ids_;
};

// Of "at /works/0/name: expected …".
std::string pointer_in(const std::string& detail) {
  if (!detail.starts_with("at /")) return "";
  return detail.substr(3, detail.find(':') - 3);
}

}  // namespace

const Registered kGits{"/agentflow/gits", "git", "skald flow gits list"};
const Registered kMcpServers{"/agentflow/mcp-servers", "MCP server", "skald flow mcp list"};
const Registered kTemplates{"/agentflow/templates", "template", "skald flow templates list"};

std::string id_of(const Api& api, const Registered& kind, const std::string& name) {
  const auto found = JsonView(ask(api, "GET", kind.path, {{"name", name}})).items();
  if (!found.empty()) return found[0]["id"];
  if (is_id(name) && is_there(api, kind.path + "/" + http::encode_segment(name))) return name;
  throw Invalid("BAD_REFERENCE", "there is no " + kind.what + " of the name or id '" + cut_text(name, 100) + "'; `" +
                                     kind.list + "` lists them");
}

void resolve_references(const Api& api, WorkflowFile& file) { References(api, file).resolve(); }

std::string send_file(const Api& api, const std::string& method, const std::string& path, const WorkflowFile& file) {
  try {
    return ask(api, method, path, {}, boost::json::serialize(file.body));
  } catch (const Refused& error) {
    throw Refused(error.code(), file.place(pointer_in(error.what())) + ": " + error.what());
  }
}

}  // namespace skald::cli
