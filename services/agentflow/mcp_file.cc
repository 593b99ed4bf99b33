#include "agentflow/mcp_file.h"

#include <algorithm>

#include "agentflow/mcp.h"

namespace agentflow {
namespace {

std::vector<McpAddress> addresses(skald::Database& db, const Ids& ids) {
  return db.read_result([&](skald::Transaction& tx) {
    std::vector<McpAddress> out;
    for (const std::string& id : ids) {
      const auto server = tx.find<McpServer>(id);
      if (!server) throw skald::Refused("NO_SUCH_REFERENCE", "mcp server " + id + " is not registered any more");
      out.push_back({server->name, server->command.value_or(""), in_column<std::vector<std::string>>(server->args),
                     in_column<skald::Variables>(server->variables), server->url});
    }
    return out;
  });
}

}  // namespace

void write_mcp_file(const Outside& outside, skald::Database& db, const Ids& servers, const std::string& folder,
                    const std::string& mailbox, const std::string& path) {
  std::vector<McpAddress> all = addresses(db, servers);
  if (outside.options.greet_mcp_servers)
    for (const McpAddress& server : all) greet(outside.env, server, folder, kGreetingMax);
  if (!mailbox.empty() && std::ranges::find(all, kOwnServer, &McpAddress::name) == all.end())
    all.push_back({std::string(kOwnServer), outside.options.program, {"mcp"}, {{"SKALD_MAILBOX", mailbox}}, {}});
  outside.spaces().write_file(path, mcp_config(all));
}

}  // namespace agentflow
