// The handshake, whatever it goes over, and what is said of a server that does not keep to it.
#include <algorithm>

#include "agentflow/mcp.h"
#include "agentflow/mcp/channel.h"
#include "agentflow/mcp/rpc.h"
#include "skald/controls.h"
#include "skald/secret_mask.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr int kMcpMessagesMax = 1000;  // until one answer: notifications and questions of the server's own
constexpr int kToolPagesMax = 20;
constexpr std::size_t kToolsMax = 2000;
constexpr std::size_t kToolNameMax = 200, kCursorMax = 4096;
constexpr std::size_t kQuoteMax = 200, kComplaintMax = 500;
constexpr skald::Duration kMcpGrace = std::chrono::seconds(2), kMcpGraceAfterFailure = std::chrono::milliseconds(200);

std::string on_one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return skald::kLineBreaks.find(c) != std::string_view::npos; }, ' ');
  return text;
}

std::string quoted_part(std::string_view text) {
  return "'" + skald::escape_controls(on_one_line(skald::cut_text(text, kQuoteMax))) + "'";
}

// The last of it, not beginning in the middle of a character.
std::string end_of_complaint(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  std::size_t begin = text.size() > kComplaintMax ? text.size() - kComplaintMax : 0;
  while (begin > 0 && begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) ++begin;
  return skald::escape_controls(on_one_line(skald::cut_text(std::string_view(text).substr(begin), kComplaintMax)));
}

// What the server was given in confidence; it may repeat it.
class McpSecrets {
 public:
  McpSecrets(const skald::Variables& stored, const skald::Variables& resolved) {
    for (const auto& [name, value] : resolved)
      if (stored.at(name) != value) secrets_.push_back(value);
  }

  std::string hide_in(std::string_view text) const { return skald::masked(secrets_, text); }

 private:
  std::vector<std::string> secrets_;
};

const boost::json::value& answer_member(const boost::json::object& object, std::string_view name,
                                        std::string_view method) {
  const auto* found = object.if_contains(name);
  if (found == nullptr) mcp_failed("answered " + std::string(method) + " without '" + std::string(name) + "'");
  return *found;
}

std::string answer_text(const boost::json::object& object, std::string_view name, std::string_view method) {
  const auto& value = answer_member(object, name, method);
  if (!value.is_string())
    mcp_failed("answered " + std::string(method) + " with a '" + std::string(name) + "' that is no text");
  return std::string(value.get_string());
}

const boost::json::object& answer_object(const boost::json::object& object, std::string_view name,
                                         std::string_view method) {
  const auto& value = answer_member(object, name, method);
  if (!value.is_object())
    mcp_failed("answered " + std::string(method) + " with a '" + std::string(name) + "' that is no object");
  return value.get_object();
}

class McpHandshake {
 public:
  McpHandshake(McpChannel& channel, const McpSecrets& secrets, skald::Instant deadline)
      : channel_(channel), secrets_(secrets), deadline_(deadline) {}

  McpGreeting run() {
    const bool has_tools = initialize();
    channel_.use_protocol(greeting_.protocol);
    channel_.send(mcp_notification("notifications/initialized"), deadline_);
    if (has_tools) list_tools();
    return std::move(greeting_);
  }

 private:
  bool initialize() {
    static constexpr std::string_view method = "initialize";
    const auto result = ask(method, R"({"protocolVersion":")" + std::string(kMcpProtocolLatest) +
                                        R"(","capabilities":{},"clientInfo":{"name":"skald","version":"1"}})");
    greeting_.protocol = answer_text(result, "protocolVersion", method);
    if (!knows_mcp_protocol(greeting_.protocol))
      mcp_failed("speaks protocol " + said(greeting_.protocol) + ", which is none of those known here");
    const auto& info = answer_object(result, "serverInfo", method);
    greeting_.name = shown_name(answer_text(info, "name", method));
    greeting_.version = shown_name(answer_text(info, "version", method));
    return answer_object(result, "capabilities", method).contains("tools");
  }

  std::string shown_name(const std::string& name) const {
    return skald::escape_controls(skald::cut_text(secrets_.hide_in(name), kToolNameMax));
  }

  void list_tools() {
    std::string params = "{}";
    for (int page = 0; page < kToolPagesMax; ++page) {
      const auto result = ask("tools/list", params);
      const auto& tools = answer_member(result, "tools", "tools/list");
      if (!tools.is_array()) mcp_failed("answered tools/list with 'tools' that are no array");
      for (const auto& tool : tools.get_array()) add_tool(tool);
      const auto* cursor = result.if_contains("nextCursor");
      if (cursor == nullptr || cursor->is_null()) return;
      if (!cursor->is_string() || cursor->get_string().size() > kCursorMax)
        mcp_failed("answered tools/list with a 'nextCursor' that is no text of at most 4096 bytes");
      params = R"({"cursor":)" + skald::to_json(std::string(cursor->get_string())) + "}";
    }
    mcp_failed("lists its tools on more than " + std::to_string(kToolPagesMax) + " pages");
  }

  void add_tool(const boost::json::value& tool) {
    if (!tool.is_object()) mcp_failed("lists a tool that is no object");
    std::string name = answer_text(tool.get_object(), "name", "tools/list");
    if (name.empty() || name.size() > kToolNameMax || skald::has_controls(name))
      mcp_failed("lists a tool called " + said(name) +
                 ", which is no name of 1 to 200 bytes without control characters");
    if (greeting_.tools.size() == kToolsMax) mcp_failed("lists more than " + std::to_string(kToolsMax) + " tools");
    greeting_.tools.push_back(std::move(name));
  }

  boost::json::object ask(std::string_view method, std::string_view params) {
    const std::string id = std::to_string(++asked_);
    channel_.send(mcp_request(id, method, params), deadline_);
    for (int message = 0; message < kMcpMessagesMax; ++message)
      if (auto result = answer_to(id, method, next_message())) return std::move(*result);
    mcp_failed("sent " + std::to_string(kMcpMessagesMax) + " messages, and no answer to " + std::string(method));
  }

  McpMessage next_message() {
    const std::string text = channel_.receive(deadline_);
    try {
      if (auto message = read_mcp_message(skald::json::parse(text, kMcpValuesMax))) return std::move(*message);
    } catch (const skald::Invalid&) {
      // Said below: to a person it is the same.
    }
    mcp_failed("sent what is no message of JSON-RPC 2.0: " + said(text));
  }

  // nullopt: the message is no answer, and has been seen to.
  std::optional<boost::json::object> answer_to(const std::string& id, std::string_view method,
                                               const McpMessage& message) {
    if (!message.method.empty()) {
      if (!message.id.empty()) reply(message);
      return std::nullopt;
    }
    if (message.error)
      mcp_failed("answered " + std::string(method) + " with an error: " + said(sentence(*message.error)));
    if (message.id != id) mcp_failed("answered a request " + said(message.id) + " that it was not sent");
    if (!message.result->is_object())
      mcp_failed("answered " + std::string(method) + " with a result that is no object");
    return message.result->get_object();
  }

  static std::string sentence(const boost::json::value& error) {
    const auto* object = error.if_object();
    const auto* text = object != nullptr ? object->if_contains("message") : nullptr;
    return text != nullptr && text->is_string() ? std::string(text->get_string()) : "it does not say which";
  }

  void reply(const McpMessage& question) {
    channel_.send(question.method == "ping"
                      ? mcp_result(question.id, "{}")
                      : mcp_failure(question.id, McpCode::method_not_found, "this client answers ping only"),
                  deadline_);
  }

  std::string said(const std::string& text) const { return quoted_part(secrets_.hide_in(text)); }

  McpChannel& channel_;
  const McpSecrets& secrets_;
  const skald::Instant deadline_;
  McpGreeting greeting_;
  int asked_ = 0;
};

}  // namespace

void mcp_failed(const std::string& what) { throw skald::Refused("MCP_FAILED", what); }

McpGreeting greet(const skald::Env& env, const McpAddress& address, const std::string& folder,
                  skald::Duration timeout) {
  check_address(address);
  const skald::Instant deadline = env.clock.steady() + timeout;
  const skald::Variables variables = resolve_variables(address.variables);
  const McpSecrets secrets(address.variables, variables);
  std::unique_ptr<McpChannel> channel;
  try {
    channel = address.url ? mcp_http(env, *address.url) : mcp_process(env, address, folder, variables);
    McpGreeting greeting = McpHandshake(*channel, secrets, deadline).run();
    channel->end(kMcpGrace);
    return greeting;
  } catch (const skald::Refused& error) {
    const std::string complaint =
        channel ? end_of_complaint(secrets.hide_in(channel->end(kMcpGraceAfterFailure))) : std::string();
    mcp_failed("the MCP server " + quoted_part(address.name) + " " + error.what() +
               (address.url ? ": check its URL" : ": check its command, arguments and variables") +
               (complaint.empty() ? "" : "; it complained: " + complaint));
  }
}

}  // namespace agentflow
