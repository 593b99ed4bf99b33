// An MCP server that is a process of ours: a message is a line.
#include <cstdlib>

#include "agentflow/mcp/channel.h"

namespace agentflow {
namespace {

// What a program needs to find itself and its user; none of it is a secret.
constexpr const char* kPassedOn[] = {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"};

skald::Variables with_passed_on(skald::Variables variables) {
  for (const char* name : kPassedOn)
    if (const char* value = std::getenv(name)) variables.emplace(name, value);
  return variables;
}

skald::Command mcp_command(const McpAddress& address, const std::string& folder, const skald::Variables& variables) {
  skald::Command out{.argv = {address.command},
                     .folder = folder,
                     .variables = with_passed_on(variables),
                     .output_max = kMcpMessageMax};
  out.argv.insert(out.argv.end(), address.args.begin(), address.args.end());
  return out;
}

class McpProcess : public McpChannel {
 public:
  McpProcess(const skald::Env& env, const skald::Command& command) : dialogue_(env.clock, command) {}

  // One that does not take it, or has ended, may have said why: receive() tells.
  void send(const std::string& message, skald::Instant deadline) override { dialogue_.send(message, deadline); }

  std::string receive(skald::Instant deadline) override {
    try {
      if (auto line = dialogue_.receive_line(deadline)) return std::move(*line);
    } catch (const skald::Refused&) {
      mcp_failed("sent a message of more than 4 MiB");
    }
    if (!dialogue_.has_ended()) mcp_failed("has not answered in time");
    mcp_failed("ended before it had answered" + how_it_ended());
  }

  void use_protocol(const std::string&) override {}

  std::string end(skald::Duration grace) noexcept override { return dialogue_.end(grace).err; }

 private:
  // One that has closed its output has a moment to end.
  std::string how_it_ended() {
    const skald::CommandResult& end = dialogue_.end(std::chrono::milliseconds(200));
    if (end.timed_out) return ", or closed its output";
    return end.signal != 0 ? ", by signal " + std::to_string(end.signal)
                           : ", with code " + std::to_string(end.exit_code);
  }

  skald::Dialogue dialogue_;
};

}  // namespace

std::unique_ptr<McpChannel> mcp_process(const skald::Env& env, const McpAddress& address, const std::string& folder,
                                        const skald::Variables& variables) {
  try {
    return std::make_unique<McpProcess>(env, mcp_command(address, folder, variables));
  } catch (const skald::Refused& error) {
    mcp_failed(std::string("could not be started: ") + error.what());
  }
}

}  // namespace agentflow
