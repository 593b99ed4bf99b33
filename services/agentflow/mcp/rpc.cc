#include "agentflow/mcp/rpc.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "skald/json.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kSentenceMax = 2000;

constexpr std::string_view kMcpEnvelope = R"({"jsonrpc":"2.0")";

std::string json_text(std::string_view text) {
  std::string out;
  skald::json::write_string(out, text);
  return out;
}

std::string in_envelope(std::string_view id, std::string_view rest) {
  std::string out(kMcpEnvelope);
  if (!id.empty()) out.append(R"(,"id":)").append(id);
  return out.append(rest).append("}");
}

bool is_rpc_id(const boost::json::value& value) { return value.is_string() || value.is_int64() || value.is_uint64(); }

bool is_version_two(const boost::json::object& object) {
  const auto* version = object.if_contains("jsonrpc");
  return version != nullptr && version->is_string() && version->get_string() == "2.0";
}

std::optional<McpMessage> read_rpc_call(const boost::json::object& object, McpMessage message) {
  const auto& method = object.at("method");
  if (!method.is_string() || method.get_string().empty()) return std::nullopt;
  message.method = std::string(method.get_string());
  const auto* params = object.if_contains("params");
  message.params = params != nullptr ? *params : boost::json::object();
  return message;
}

std::optional<McpMessage> read_rpc_answer(const boost::json::object& object, McpMessage message) {
  const auto* result = object.if_contains("result");
  const auto* error = object.if_contains("error");
  if (message.id.empty() || (result == nullptr) == (error == nullptr)) return std::nullopt;
  if (result != nullptr) message.result = *result;
  else message.error = *error;
  return message;
}

}  // namespace

bool knows_mcp_protocol(std::string_view version) {
  return std::ranges::find(kMcpProtocols, version) != kMcpProtocols.end();
}

std::optional<McpMessage> read_mcp_message(const boost::json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr || !is_version_two(*object)) return std::nullopt;
  McpMessage message;
  if (const auto* id = object->if_contains("id")) {
    // A server that could not read what it was sent answers with no id.
    const bool nameless = id->is_null() && object->contains("error");
    if (!nameless && !is_rpc_id(*id)) return std::nullopt;
    message.id = boost::json::serialize(*id);
  }
  return object->contains("method") ? read_rpc_call(*object, std::move(message))
                                    : read_rpc_answer(*object, std::move(message));
}

std::string mcp_request(std::string_view id, std::string_view method, std::string_view params) {
  return in_envelope(id, R"(,"method":)" + json_text(method) + R"(,"params":)" + std::string(params));
}

std::string mcp_notification(std::string_view method) { return in_envelope("", R"(,"method":)" + json_text(method)); }

std::string mcp_result(std::string_view id, std::string_view result) {
  return in_envelope(id, R"(,"result":)" + std::string(result));
}

std::string mcp_failure(std::string_view id, McpCode code, std::string_view message) {
  return in_envelope(id, R"(,"error":{"code":)" + std::to_string(static_cast<int>(code)) + R"(,"message":)" +
                             json_text(skald::cut_text(message, kSentenceMax)) + "}");
}

}  // namespace agentflow
