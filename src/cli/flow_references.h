// Gits, MCP servers and templates by their names: people type names, the API takes ids.
#pragma once

#include <string>

#include "cli/api.h"
#include "cli/flow_file.h"

namespace skald::cli {

// What has a name and an id.
struct Registered {
  std::string path, what, list;  // "/agentflow/gits", "git", "skald flow gits list"
};
extern const Registered kGits, kMcpServers, kTemplates;

// The id of the one with that name, or with that id. A name wins over the same text as an id. Invalid (BAD_REFERENCE)
// where there is none.
std::string id_of(const Api& api, const Registered& kind, const std::string& name);

// Replaces the names in a file by ids. Whatever has another shape is left as it is: the server says what it should be.
// Invalid (BAD_REFERENCE) names file and line.
void resolve_references(const Api& api, WorkflowFile& file);

// A request with the file as its body. What is refused is told with the file's name and, where it is known, the line.
std::string send_file(const Api& api, const std::string& method, const std::string& path, const WorkflowFile& file);

}  // namespace skald::cli
