// Workflows as people write them: files in TOML or JSON with the members of POST /agentflow/workflows
// (docs/schemas/workflow.schema.json).
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace skald::cli {

struct WorkflowFile {
  std::string name;          // of the file
  boost::json::object body;  // as it is sent, but that a git or an MCP server may stand there by its name
  std::map<std::string, std::size_t, std::less<>> lines;  // of values by their JSON pointers; of TOML alone

  // "plan.toml:12", the line of the value or else of the nearest that it lies in; "plan.json" where no line is known.
  std::string place(std::string_view pointer) const;
};

// By the ending of the name. Invalid (BAD_WORKFLOW_FILE) names the file and, where it is known, the line. Members
// are not judged here: the server knows which there are.
WorkflowFile parse_workflow(std::string_view text, const std::string& name);
WorkflowFile read_workflow(const std::string& path);

}  // namespace skald::cli
