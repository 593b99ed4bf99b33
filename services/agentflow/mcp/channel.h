// How messages get to an MCP server and back: over the standard input and output of a process, or over HTTP. Texts are
// messages of JSON-RPC, one each.
//
// Whatever goes wrong is Refused (MCP_FAILED), with what the server did as the second half of a sentence: "ended before
// it had answered". Not thread safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agentflow/mcp.h"

namespace agentflow {

inline constexpr std::size_t kMcpMessageMax = 4 << 20;

class McpChannel {
 public:
  virtual ~McpChannel() = default;
  virtual void send(const std::string& message, skald::Instant deadline) = 0;
  virtual std::string receive(skald::Instant deadline) = 0;
  // What both sides have settled on.
  virtual void use_protocol(const std::string& version) = 0;
  // Ends it: it has `grace` to do so by itself. Returns what it has complained about, as bytes; throws nothing.
  virtual std::string end(skald::Duration grace) noexcept = 0;
};

[[noreturn]] void mcp_failed(const std::string& what);

// `variables` are resolved.
std::unique_ptr<McpChannel> mcp_process(const skald::Env& env, const McpAddress& address, const std::string& folder,
                                        const skald::Variables& variables);
std::unique_ptr<McpChannel> mcp_http(const skald::Env& env, const std::string& url);

}  // namespace agentflow
