// Both sides of our MCP as a program, for tools/mcp_test.py, which lets strangers talk with it.
//
//   skald_mcp_probe serve                      an MCP server on standard input and output
//   skald_mcp_probe greet COMMAND [ARGUMENT…]  greets a server, and says as JSON who it is
//   skald_mcp_probe greet-url URL
#include <csignal>
#include <iostream>
#include <span>

#include "agentflow/mcp.h"

namespace {

using namespace std::chrono_literals;

void serve() {
  std::signal(SIGPIPE, SIG_IGN);
  std::string reported = "nothing";
  agentflow::serve_mcp(
      std::cin, std::cout,
      {.report = [&](const std::string& text) { reported = text; },
       .ask = [](const std::string& question) { return "You asked: " + question; },
       .complete = [](const std::string&) { throw skald::Refused("MCP_FAILED", "the task is over: stop"); },
       .read = [&] { return skald::RawJson{R"({"reported":)" + skald::to_json(reported) + "}"}; },
       .answer = [&](const std::string& query, const std::string& text) { reported = query + ": " + text; }},
      "test");
}

void greet(const agentflow::McpAddress& address) {
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  std::cout << skald::to_json(agentflow::greet({*clock, *random, skald::silent_observer()}, address, "", 30s)) << '\n';
}

}  // namespace

int main(int count, char** words) {
  const std::span arguments(words + 1, static_cast<std::size_t>(count - 1));
  const std::string_view act = arguments.empty() ? "" : arguments[0];
  try {
    if (act == "serve") serve();
    else if (act == "greet-url" && arguments.size() == 2)
      greet({.name = "public", .command = "", .args = {}, .variables = {}, .url = arguments[1]});
    else if (act == "greet" && arguments.size() >= 2)
      greet({.name = "public",
             .command = arguments[1],
             .args = {arguments.begin() + 2, arguments.end()},
             .variables = {},
             .url = {}});
    else return 2;
  } catch (const skald::Error& error) {
    std::cerr << error.code() << ": " << error.what() << '\n';
    return 1;
  }
  return 0;
}
