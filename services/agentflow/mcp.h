// The Model Context Protocol (JSON-RPC 2.0, a message per line over standard input and output, or over HTTP): greeting
// the servers that agents use, and being one.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// Invalid (BAD_MCP_SERVER) where it is neither the one nor the other, or both, or its name is none.
void check_address(const McpAddress& address);

// Secrets are not stored: a value `${env:NAME}` is that variable of this process, `${file:PATH}` what stands in that
// file, up to its last line's end. A reference is the whole value; anything else is the value itself. Refused (NO_SECRET)
// names what is not there, never what is: no such variable, no such file, more than 64 KiB, no UTF-8.
skald::Variables resolve_variables(const skald::Variables& stored);

struct McpGreeting {
  std::string name, version;  // of the server, by itself
  std::string protocol;
  std::vector<std::string> tools;
};
BOOST_DESCRIBE_STRUCT(McpGreeting, (), (name, version, protocol, tools))

inline constexpr skald::Duration kGreetingMax = std::chrono::seconds(15);

// A real handshake in that folder: initialize, notifications/initialized, tools/list; then the server is ended, with its
// whole process group. Beside its own variables it gets PATH, HOME and their like of ours. Refused (MCP_FAILED) says what
// the server did instead, with the end of what it complained about, and without the secrets it was given. A server may
// lie, talk without end, or be silent: that ends with the timeout, and the server a moment later.
//
// | bound                                  |                |
// | a message, or an answer over HTTP      | 4 MiB          |
// | messages before one answer             | 1,000          |
// | pages of tools, and tools in all       | 20, and 2,000  |
//
// Over HTTP no redirect is followed. Throws also what check_address(), resolve_variables() and skald::Dialogue do.
McpGreeting greet(const skald::Env& env, const McpAddress& address, const std::string& folder, skald::Duration timeout);

// The file that agent programs read: {"mcpServers": {NAME: {"command", "args", "env"} | {"type": "http", "url"}}},
// secrets resolved, names in their order. Invalid (BAD_MCP_SERVER), too, where two have one name.
std::string mcp_config(std::span<const McpAddress> servers);

// What our own server offers to the agent of one task. Each may throw skald errors, which the agent is told as the
// tool's failure.
struct McpTools {
  std::function<void(const std::string& text)> report;  // what it has done, kept with the work
  std::function<std::string(const std::string& question)> ask;  // a person; returns the answer
  std::function<void(const std::string& summary)> complete;  // its task is done
  std::function<skald::RawJson()> read;  // its workflow, work and task, and what people ask it
  std::function<void(const std::string& query, const std::string& text)> answer;  // to what a person asks
};

// Serves until `in` ends, or `out` takes no more: one request at a time, so nothing else is answered while `ask` waits.
// No input ends it.
//
// | what comes                                            | what is answered                        |
// | no JSON, or more than 200,000 values                  | -32700                                  |
// | no JSON-RPC 2.0; a line of more than 1 MiB, not kept  | -32600                                  |
// | a batch                                               | its answers in 2025-03-26, else -32600  |
// | initialize for the second time, or tools before it    | -32600                                  |
// | a method that is none of ours                         | -32601                                  |
// | no such tool, or not what its schema says             | -32602                                  |
// | a tool throws a skald error                           | a result with isError, and its sentence |
// | a tool throws anything else                           | -32603                                  |
// | a notification, or an answer                          | nothing                                 |
//
// Where nobody may read `out` any more the caller ignores SIGPIPE.
void serve_mcp(std::istream& in, std::ostream& out, const McpTools& tools, std::string_view version);

}  // namespace agentflow
