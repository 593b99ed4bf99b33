#include "cli/flow_requests.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "cli/flow_file.h"
#include "cli/flow_references.h"
#include "cli/json_view.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

std::string as_text(const boost::json::object& body) { return boost::json::serialize(body); }

// "NAME=VALUE", or "NAME" for the one that the server itself has.
boost::json::object variables_of(const std::vector<std::string>& words) {
  boost::json::object out;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name.empty()) throw Invalid("USAGE", "--env takes NAME, or NAME=VALUE");
    out[name] = equals == word.npos ? "${env:" + name + "}" : word.substr(equals + 1);
  }
  return out;
}

// The workflow's repositories, with what flags add and take away.
boost::json::array changed_gits(const Arguments& arguments, const Api& api, const std::string& path) {
  boost::json::array refs = json::parse(ask(api, "GET", path)).at("gitRefs").as_array();
  const auto place_of = [&](const std::string& id) {
    return std::ranges::find_if(refs, [&](const boost::json::value& ref) { return ref.at("gitId").as_string() == id; });
  };
  for (const std::string& name : arguments.all("remove-git")) {
    const auto found = place_of(id_of(api, kGits, name));
    if (found == refs.end()) throw Invalid("BAD_REFERENCE", "the workflow does not work on git '" + name + "'");
    refs.erase(found);
  }
  for (const std::string& name : arguments.all("add-git")) {
    const std::string id = id_of(api, kGits, name);
    if (place_of(id) != refs.end()) throw Invalid("BAD_REFERENCE", "the workflow works on git '" + name + "' already");
    refs.push_back(boost::json::object{{"gitId", id}});
  }
  return refs;
}

}  // namespace

std::string new_git(const Arguments& arguments) {
  const bool has_path = arguments.flags.contains("path");
  if (has_path == arguments.flags.contains("remote"))
    throw Invalid("USAGE", "skald flow gits add needs either --path PATH or --remote URL");
  const std::string how = has_path ? "path" : "remote";
  return as_text({{"name", arguments.operands[0]}, {how, arguments.flag(how)}});
}

std::string new_mcp_server(const Arguments& arguments) {
  const auto& words = arguments.operands;
  if ((words.size() > 1) == arguments.flags.contains("url"))
    throw Invalid("USAGE", "skald flow mcp add NAME needs either --url URL, or `--` and then the server's command");
  boost::json::object body{{"name", words[0]}};
  if (words.size() > 1) {
    body["command"] = words[1];
    body["args"] = boost::json::array(words.begin() + 2, words.end());
  } else {
    body["url"] = arguments.flag("url");
  }
  if (const auto variables = arguments.all("env"); !variables.empty()) body["env"] = variables_of(variables);
  return as_text(body);
}

std::string new_integration(const Arguments& arguments) {
  boost::json::object body{{"mode", arguments.flags.contains("mode") ? arguments.flag("mode") : "merge"}};
  if (arguments.flags.contains("target")) body["target"] = arguments.flag("target");
  return as_text(body);
}

std::string modify_workflow(const Arguments& arguments, const Api& api) {
  const bool gits = arguments.lists.contains("add-git") || arguments.lists.contains("remove-git");
  const bool by_flags = gits || arguments.flags.contains("name");
  if (by_flags == (arguments.operands.size() > 1))
    throw Invalid("USAGE", "skald flow modify ID needs either a FILE, or --name, --add-git or --remove-git");
  const std::string path = "/agentflow/workflows/" + http::encode_segment(arguments.operands[0]);
  if (!by_flags) {
    WorkflowFile file = read_workflow(arguments.operands[1]);
    resolve_references(api, file);
    return send_file(api, "PATCH", path, file);
  }
  boost::json::object body;
  if (arguments.flags.contains("name")) body["name"] = arguments.flag("name");
  if (gits) body["gitRefs"] = changed_gits(arguments, api, path);
  return ask(api, "PATCH", path, {}, as_text(body));
}

std::string answer_question(const Arguments& arguments, const Api& api) {
  const std::string& id = arguments.operands[0];
  std::map<std::string, std::string> query = {{"status", "OPEN"}, {"limit", "200"}};
  do {
    const JsonView page(ask(api, "GET", "/agentflow/questions", query));
    for (const JsonView& one : page.items())
      if (one["id"] == id)
        return ask(api, "POST",
                   "/agentflow/works/" + http::encode_segment(one["workId"]) + "/questions/" + http::encode_segment(id),
                   {}, as_text({{"answer", arguments.operands[1]}}));
    query["cursor"] = page["nextCursor"];
  } while (!query["cursor"].empty());
  throw NotFound("NO_OPEN_QUESTION", "no question with this id waits for an answer; `skald flow questions` lists them");
}

}  // namespace skald::cli
