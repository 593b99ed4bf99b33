// The tools of our own server, as agents see them: what is listed, and what a call comes to.
#pragma once

#include <string>

#include "agentflow/mcp.h"
#include "agentflow/mcp/rpc.h"

namespace agentflow {

// The result of tools/list, a JSON text of one line.
std::string mcp_tool_list();

// The answer to tools/call, whose params are an object. A skald error of the tool is a result with isError and its sentence; whatever else it throws
// goes through.
std::string call_mcp_tool(const McpTools& tools, const McpMessage& request);

}  // namespace agentflow
