#include "agentflow/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <set>

#include "agentflow/flow.h"

namespace agentflow {
namespace {

constexpr int kPortLeast = 1'024, kPortMost = 65'535;  // below are the system's

int port_in(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? out : 0;
}

// Those that wait for late packets (TIME_WAIT) are no hindrance, as they are none to servers.
bool binds(int family, const void* address, socklen_t size) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno == EAFNOSUPPORT;
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  const bool bound = ::bind(socket, static_cast<const sockaddr*>(address), size) == 0 || errno == EADDRNOTAVAIL;
  ::close(socket);
  return bound;
}

[[noreturn]] void no_ports(const PortRange& range, std::int64_t wanted, std::int64_t found) {
  if (range.first > range.last)
    throw skald::Refused("NO_PORTS", "the workflow wants ports, and this server has none: set agentflow.ports");
  throw skald::Refused("NO_PORTS", "the workflow wants " + std::to_string(wanted) + " ports, and " +
                                       std::to_string(found) + " of agentflow.ports are free: start it later, or " +
                                       "give the server more");
}

}  // namespace

PortRange port_range(std::string_view text) {
  if (text.empty()) return {};
  const auto dash = text.find('-');
  const PortRange out{port_in(text.substr(0, dash)), dash == text.npos ? 0 : port_in(text.substr(dash + 1))};
  if (out.first < kPortLeast || out.last > kPortMost || out.first > out.last)
    throw skald::Invalid("BAD_SETTING", "agentflow.ports is a range within 1024-65535 such as 20000-29999, or empty");
  return out;
}

bool is_port_free(int port) {
  sockaddr_in four{};
  four.sin_family = AF_INET, four.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6, six.sin6_port = four.sin_port;
  return binds(AF_INET, &four, sizeof four) && binds(AF_INET6, &six, sizeof six);
}

// From the lowest to the highest: whoever waits for another's insert holds lower ones only, so nobody waits in a circle.
void take_ports(const Outside& outside, skald::Transaction& tx, const std::string& workflow_id, std::int64_t n) {
  if (n == 0) return;
  std::set<std::int64_t> taken;
  for (const Port& row : tx.select<Port>("ORDER BY port")) taken.insert(row.port);
  const PortRange& range = outside.options.ports;
  std::int64_t found = 0;
  for (int port = range.first; port <= range.last && found < n; ++port)
    if (!taken.contains(port) && outside.options.is_port_free(port))
      found += tx.execute("INSERT INTO flow_port (port, workflow_id) VALUES ($1, $2) ON CONFLICT DO NOTHING", port,
                          workflow_id);
  if (found < n) no_ports(range, n, found);
}

void release_ports(skald::Transaction& tx, const std::string& workflow_id) {
  tx.execute("DELETE FROM flow_port WHERE workflow_id = $1", workflow_id);
}

Ports ports_of(skald::Transaction& tx, const std::string& workflow_id) {
  Ports out;
  for (const Port& row : tx.select<Port>("WHERE workflow_id = $1 ORDER BY port", workflow_id)) out.push_back(row.port);
  return out;
}

}  // namespace agentflow
