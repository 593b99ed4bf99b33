#include "agentflow/mcp_file.h"

#include <filesystem>
#include <fstream>

#include "agentflow/mcp.h"

namespace agentflow {
namespace {

std::vector<McpAddress> addresses(skald::Database& db, const Ids& ids) {
  return db.read_result([&](skald::Transaction& tx) {
    std::vector<McpAddress> out;
    for (const std::string& id : ids) {
      const McpServer server = skald::found<McpServer>(tx, id);
      out.push_back({server.name, server.command.value_or(""), in_column<std::vector<std::string>>(server.args),
                     in_column<skald::Variables>(server.variables), server.url});
    }
    return out;
  });
}

void write_private_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  std::filesystem::permissions(beside, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  file << text;
  file.close();
  if (!file) throw skald::Unavailable("NO_SPACE_FOLDER", "a file of the workflow's space cannot be written");
  std::filesystem::rename(beside, path);
}

}  // namespace

void write_mcp_file(const Outside& outside, skald::Database& db, const Ids& servers, const std::string& folder,
                    const std::string& mailbox, const std::string& path) {
  std::vector<McpAddress> all = addresses(db, servers);
  if (outside.options.greet_mcp_servers)
    for (const McpAddress& server : all) greet(outside.env, server, folder, kGreetingMax);
  const std::vector<std::string>& own = outside.options.own_mcp;
  if (!own.empty() && !mailbox.empty() && std::ranges::find(all, kOwnServer, &McpAddress::name) == all.end())
    all.push_back({std::string(kOwnServer), own[0], {own.begin() + 1, own.end()}, {{"SKALD_MAILBOX", mailbox}}, {}});
  write_private_file(path, mcp_config(all));
}

}  // namespace agentflow
