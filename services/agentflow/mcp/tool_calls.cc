#include "agentflow/mcp/tool_calls.h"

#include <algorithm>

#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kToolTextMax = 4 << 20;  // of an answer: more is of no use to an agent

struct McpTool {
  std::string_view name, description;
  std::string_view argument, argument_says;  // empty: it takes none
};

constexpr McpTool kMcpToolTable[] = {
    {"report", "Keeps a report of what you have done with the work, for the people who asked for it.", "text",
     "What you have done, in Markdown."},
    {"ask", "Asks a person and waits for the answer. Use it where you cannot decide by yourself.", "question",
     "The question, with all that is needed to answer it."},
    {"complete", "Says that your task is done. Call it once, at the end.", "summary",
     "What came of the task, in a few sentences."},
    {"read", "Returns your workflow, your work and your task as JSON.", "", ""},
};

std::string tool_json(std::string_view text) {
  std::string out;
  skald::json::write_string(out, text);
  return out;
}

std::string tool_schema(const McpTool& tool) {
  if (tool.argument.empty()) return R"({"type":"object","properties":{},"additionalProperties":false})";
  const std::string argument = tool_json(tool.argument);
  return R"({"type":"object","properties":{)" + argument + R"(:{"type":"string","description":)" +
         tool_json(tool.argument_says) + R"(}},"required":[)" + argument + R"(],"additionalProperties":false})";
}

std::string tool_content(std::string_view text, bool is_error) {
  return R"({"content":[{"type":"text","text":)" + tool_json(skald::cut_text(text, kToolTextMax)) + R"(}],"isError":)" +
         (is_error ? "true}" : "false}");
}

// Invalid (INVALID_VALUE) where the arguments are not what the tool's schema says.
std::string tool_argument(const McpTool& tool, const boost::json::object& params) {
  const auto* given = params.if_contains("arguments");
  const boost::json::object none;
  if (given != nullptr && !given->is_object()) skald::json::fail("/arguments", "an object");
  const auto& arguments = given != nullptr ? given->get_object() : none;
  for (const auto& member : arguments)
    if (member.key() != tool.argument)
      skald::json::fail(skald::json::child("/arguments", member.key()), "no such member: remove it");
  if (tool.argument.empty()) return "";
  const std::string at = skald::json::child("/arguments", tool.argument);
  const auto* value = arguments.if_contains(tool.argument);
  if (value == nullptr) skald::json::fail(at, "a value: this member is required");
  return skald::json::read<std::string>(*value, at);
}

std::string run_tool(const McpTools& tools, std::string_view name, const std::string& argument) {
  if (name == "ask") return tools.ask(argument);
  if (name == "read") return tools.read().text;
  if (name == "report") {
    tools.report(argument);
    return "The report is kept.";
  }
  tools.complete(argument);
  return "The task is completed.";
}

}  // namespace

std::string mcp_tool_list() {
  std::string out;
  for (const McpTool& tool : kMcpToolTable)
    out += (out.empty() ? R"({"name":)" : R"(,{"name":)") + tool_json(tool.name) + R"(,"description":)" +
           tool_json(tool.description) + R"(,"inputSchema":)" + tool_schema(tool) + "}";
  return R"({"tools":[)" + out + "]}";
}

std::string call_mcp_tool(const McpTools& tools, const McpMessage& request) {
  const auto* name = request.params.get_object().if_contains("name");
  const auto* tool = std::ranges::find_if(kMcpToolTable, [&](const McpTool& one) {
    return name != nullptr && name->is_string() && name->get_string() == one.name;
  });
  if (tool == std::end(kMcpToolTable))
    return mcp_failure(request.id, McpCode::invalid_params, "there is no such tool: tools/list says which there are");
  std::string argument;
  try {
    argument = tool_argument(*tool, request.params.get_object());
  } catch (const skald::Invalid& error) {
    return mcp_failure(request.id, McpCode::invalid_params, error.what());
  }
  try {
    return mcp_result(request.id, tool_content(run_tool(tools, tool->name, argument), false));
  } catch (const skald::Error& error) {
    return mcp_result(request.id, tool_content(error.what(), true));
  }
}

}  // namespace agentflow
