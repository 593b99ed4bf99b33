// The Model Context Protocol (JSON-RPC 2.0, a message per line over standard input and output, or over HTTP): greeting
// the servers that agents use, and being one.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/env.h"
#include "skald/json.h"
#include "skald/process.h"

namespace agentflow {

// How a server is reached: a command, or a URL.
struct McpAddress {
  std::string name;  // of its member in mcp.json
  std::string command;
  std::vector<std::string> args;
  skald::Variables variables;  // as they are stored: values may be references, see resolve_variables()
  std::optional<std::string> url;
};

// Secrets are not stored: a value `${env:NAME}` is that variable of this process, `${file:PATH}` what stands in that
// file, up to its last line's end. Refused (NO_SECRET) names what is not there, never what is.
skald::Variables resolve_variables(const skald::Variables& stored);

struct McpGreeting {
  std::string name, version;  // of the server, by itself
  std::string protocol;
  std::vector<std::string> tools;
};
BOOST_DESCRIBE_STRUCT(McpGreeting, (), (name, version, protocol, tools))

// A real handshake in that folder: initialize, notifications/initialized, tools/list; then the server is ended, with all
// that it has started. Refused (MCP_FAILED) says what the server did instead, with the end of what it complained about;
// a server may lie, talk without end, or be silent.
McpGreeting greet(const skald::Env& env, const McpAddress& address, const std::string& folder, skald::Duration timeout);

// The file that agent programs read: {"mcpServers": {NAME: {"command", "args", "env"} | {"url"}}}, secrets resolved.
std::string mcp_config(std::span<const McpAddress> servers);

// What our own server offers to the agent of one task. Each may throw skald errors, which the agent is told as the
// tool's failure.
struct McpTools {
  std::function<void(const std::string& text)> report;                // what it has done, kept with the work
  std::function<std::string(const std::string& question)> ask;        // a person; returns the answer
  std::function<void(const std::string& summary)> complete;           // its task is done
  std::function<skald::RawJson()> read;                               // its workflow, work and task
};

// Serves until `in` ends. Bounded: a line of more than 1 MiB is refused, not kept.
void serve_mcp(std::istream& in, std::ostream& out, const McpTools& tools, std::string_view version);

}  // namespace agentflow
