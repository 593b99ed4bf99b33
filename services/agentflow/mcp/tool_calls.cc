#include "agentflow/mcp/tool_calls.h"

#include <algorithm>
#include <span>
#include <vector>

#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kToolTextMax = 4 << 20;  // of an answer: more is of no use to an agent

struct McpArgument {
  std::string_view name, says;
};

struct McpTool {
  std::string_view name, description;
  std::span<const McpArgument> arguments;  // texts, all required
};

constexpr McpArgument kReportArguments[] = {{"text", "What you have done, in Markdown."}};
constexpr McpArgument kAskArguments[] = {{"question", "The question, with all that is needed to answer it."}};
constexpr McpArgument kCompleteArguments[] = {{"summary", "What came of the task, in a few sentences."}};
constexpr McpArgument kAnswerArguments[] = {{"query", "The id of the query, as read says it."},
                                            {"text", "Your answer, in Markdown."}};

constexpr McpTool kMcpToolTable[] = {
    {"report", "Keeps a report of what you have done with the work, for the people who asked for it.",
     kReportArguments},
    {"ask", "Asks a person and waits for the answer. Use it where you cannot decide by yourself.", kAskArguments},
    {"complete", "Says that your task is done. Call it once, at the end.", kCompleteArguments},
    {"read", "Returns your workflow, your work and your task as JSON, and the queries of people to you.", {}},
    {"answer", "Answers a query of a person, which read has told you.", kAnswerArguments},
};

std::string tool_json(std::string_view text) {
  std::string out;
  skald::json::write_string(out, text);
  return out;
}

std::string tool_schema(const McpTool& tool) {
  std::string properties, required;
  for (const McpArgument& argument : tool.arguments) {
    const std::string comma = properties.empty() ? "" : ",", name = tool_json(argument.name);
    properties += comma + name + R"(:{"type":"string","description":)" + tool_json(argument.says) + "}";
    required += comma + name;
  }
  return R"({"type":"object","properties":{)" + properties + "}" +
         (required.empty() ? "" : R"(,"required":[)" + required + "]") + R"(,"additionalProperties":false})";
}

std::string tool_content(std::string_view text, bool is_error) {
  return R"({"content":[{"type":"text","text":)" + tool_json(skald::cut_text(text, kToolTextMax)) + R"(}],"isError":)" +
         (is_error ? "true}" : "false}");
}

// In the order of the schema. Invalid (INVALID_VALUE) where the arguments are not what it says.
std::vector<std::string> tool_arguments(const McpTool& tool, const boost::json::object& params) {
  const auto* given = params.if_contains("arguments");
  const boost::json::object none;
  if (given != nullptr && !given->is_object()) skald::json::fail("/arguments", "an object");
  const auto& values = given != nullptr ? given->get_object() : none;
  for (const auto& member : values)
    if (std::ranges::find(tool.arguments, std::string_view(member.key()), &McpArgument::name) == tool.arguments.end())
      skald::json::fail(skald::json::child("/arguments", member.key()), "no such member: remove it");
  std::vector<std::string> out;
  for (const McpArgument& argument : tool.arguments) {
    const std::string at = skald::json::child("/arguments", argument.name);
    const auto* value = values.if_contains(argument.name);
    if (value == nullptr) skald::json::fail(at, "a value: this member is required");
    out.push_back(skald::json::read<std::string>(*value, at));
  }
  return out;
}

std::string run_tool(const McpTools& tools, std::string_view name, const std::vector<std::string>& arguments) {
  if (name == "ask") return tools.ask(arguments[0]);
  if (name == "read") return tools.read().text;
  if (name == "report") {
    tools.report(arguments[0]);
    return "The report is kept.";
  }
  if (name == "answer") {
    tools.answer(arguments[0], arguments[1]);
    return "The answer is kept.";
  }
  tools.complete(arguments[0]);
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
  std::vector<std::string> arguments;
  try {
    arguments = tool_arguments(*tool, request.params.get_object());
  } catch (const skald::Invalid& error) {
    return mcp_failure(request.id, McpCode::invalid_params, error.what());
  }
  try {
    return mcp_result(request.id, tool_content(run_tool(tools, tool->name, arguments), false));
  } catch (const skald::Error& error) {
    return mcp_result(request.id, tool_content(error.what(), true));
  }
}

}  // namespace agentflow
