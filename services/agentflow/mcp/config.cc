// What stands in an agent's mcp.json, and the secrets in it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "agentflow/mcp.h"
#include "skald/controls.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kSecretFileMax = 64 << 10;
constexpr std::size_t kServerNameMax = 100, kUrlMax = 2000;

std::string shown_part(std::string_view text) { return skald::escape_controls(skald::cut_text(text, 200)); }

[[noreturn]] void no_secret(const std::string& variable, const std::string& why) {
  throw skald::Refused("NO_SECRET", "the variable " + shown_part(variable) + " cannot be given its secret: " + why);
}

// NAME of a whole `${kind:NAME}`.
std::optional<std::string> secret_reference(std::string_view value, std::string_view kind) {
  const std::string begin = "${" + std::string(kind) + ":";
  if (!value.starts_with(begin) || !value.ends_with("}")) return std::nullopt;
  return std::string(value.substr(begin.size(), value.size() - begin.size() - 1));
}

struct SecretFile {
  int number;
  ~SecretFile() {
    if (number >= 0) close(number);
  }
};

// Only a file: opening a pipe could wait for ever.
std::string secret_in_file(const std::string& variable, const std::string& path) {
  const SecretFile file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat about{};
  if (path.find('\0') != path.npos || file.number < 0 || fstat(file.number, &about) != 0 || !S_ISREG(about.st_mode))
    no_secret(variable, "there is no file " + shown_part(path) + " that can be read: put the secret there");
  std::string text(kSecretFileMax + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(file.number, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) no_secret(variable, "the file " + shown_part(path) + " cannot be read: look at the disk");
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  if (length > kSecretFileMax)
    no_secret(variable, "the file " + shown_part(path) + " has more than 64 KiB: put the secret alone there");
  text.resize(length);
  if (text.find('\0') != text.npos)
    no_secret(variable, "the file " + shown_part(path) + " holds a NUL, which no variable can: put text there");
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

std::string secret_of(const std::string& variable, const std::string& stored) {
  if (const auto name = secret_reference(stored, "env")) {
    const char* value = std::getenv(name->c_str());
    if (value == nullptr)
      no_secret(variable, "the environment has no variable " + shown_part(*name) + ": set it where skald is started");
    return value;
  }
  if (const auto path = secret_reference(stored, "file")) return secret_in_file(variable, *path);
  return stored;
}

std::string config_entry(const McpAddress& server) {
  if (server.url) return R"({"type":"http","url":)" + skald::to_json(*server.url) + "}";
  return R"({"command":)" + skald::to_json(server.command) + R"(,"args":)" + skald::to_json(server.args) +
         R"(,"env":)" + skald::to_json(resolve_variables(server.variables)) + "}";
}

// JSON can hold nothing else.
std::string resolved_value(const std::string& variable, const std::string& stored) {
  std::string value = secret_of(variable, stored);
  if (skald::cut_text(value, value.size()) != value) no_secret(variable, "its value is no UTF-8: put text there");
  return value;
}

}  // namespace

void check_address(const McpAddress& address) {
  const auto refuse = [&](const std::string& why) {
    throw skald::Invalid("BAD_MCP_SERVER", "the MCP server '" + shown_part(address.name) + "' " + why);
  };
  if (address.name.empty() || address.name.size() > kServerNameMax || skald::has_controls(address.name))
    refuse("needs a name of 1 to 100 bytes without control characters");
  if (address.url.has_value() == !address.command.empty()) refuse("needs a command or a URL, and not both");
  if (!address.url) return;
  if (!address.args.empty() || !address.variables.empty()) refuse("has a URL, so it has no arguments and no variables");
  if (!address.url->starts_with("http://") && !address.url->starts_with("https://"))
    refuse("needs a URL that begins with http:// or https://");
  if (address.url->size() > kUrlMax || skald::has_controls(*address.url))
    refuse("needs a URL of at most 2000 bytes without control characters");
}

skald::Variables resolve_variables(const skald::Variables& stored) {
  skald::Variables out;
  for (const auto& [name, value] : stored) out.emplace(name, resolved_value(name, value));
  return out;
}

std::string mcp_config(std::span<const McpAddress> servers) {
  std::map<std::string, skald::RawJson> entries;
  for (const McpAddress& server : servers) {
    check_address(server);
    if (!entries.emplace(server.name, skald::RawJson{config_entry(server)}).second)
      throw skald::Invalid("BAD_MCP_SERVER",
                           "two MCP servers are called '" + shown_part(server.name) + "': rename one");
  }
  return R"({"mcpServers":)" + skald::to_json(entries) + "}\n";
}

}  // namespace agentflow
