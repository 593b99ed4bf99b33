// The envelope of the Model Context Protocol: JSON-RPC 2.0, a message at a time.
//
// Pure and thread safe.
#pragma once

#include <array>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace agentflow {

// The versions that begin with `initialize`, oldest first; what we use of them is the same in all.
inline constexpr std::array<std::string_view, 4> kMcpProtocols = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                                  "2025-11-25"};
inline constexpr std::string_view kMcpProtocolLatest = kMcpProtocols.back();
bool knows_mcp_protocol(std::string_view version);

// Each value costs memory that is many times its text.
inline constexpr std::size_t kMcpValuesMax = 200'000;

enum class McpCode {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
};

struct McpMessage {
  std::string id = {};              // JSON text, as it came; empty: a notification
  std::string method = {};          // empty: an answer
  boost::json::value params = {};   // none: an empty object
  std::optional<boost::json::value> result = {}, error = {};  // of an answer, exactly one
};

// nullopt: it is JSON, and no message. An id is a string or a whole number.
std::optional<McpMessage> read_mcp_message(const boost::json::value& value);

// One line each, without its end. `id`, `params` and `result` are JSON texts of one line.
std::string mcp_request(std::string_view id, std::string_view method, std::string_view params);
std::string mcp_notification(std::string_view method);
std::string mcp_result(std::string_view id, std::string_view result);
std::string mcp_failure(std::string_view id, McpCode code, std::string_view message);

}  // namespace agentflow
