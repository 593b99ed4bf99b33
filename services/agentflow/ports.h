// Ports of a workflow: numbers that its agents may listen on, its own from its start to its end.
//
// | what happens                                  | what follows                                        |
// | two workflows start at once                   | a row per port: whoever is second takes another one |
// | something else listens on a port (TCP)        | it is passed over                                   |
// | there are fewer left than a workflow wants    | Refused NO_PORTS; the start takes itself back       |
// | a server with another database has this range | nobody notices before both listen: give each its own |
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/database.h"

namespace agentflow {

inline constexpr std::int64_t kPortsMax = 16;  // of a workflow

struct PortRange {
  int first = 1, last = 0;  // both are of it; none where it ends before it begins
};

// Of "20000-29999"; of an empty text: none. Invalid (BAD_SETTING).
PortRange port_range(std::string_view text);

// Whether this machine could listen there, on IPv4 and, where it has that, on IPv6.
bool is_port_free(int port);

using Ports = std::vector<std::int64_t>;

struct Outside;

// The lowest that are free, n of them. All or none.
void take_ports(const Outside& outside, skald::Transaction& tx, const std::string& workflow_id, std::int64_t n);
void release_ports(skald::Transaction& tx, const std::string& workflow_id);
// In the order of SKALD_PORT_1, …
Ports ports_of(skald::Transaction& tx, const std::string& workflow_id);

}  // namespace agentflow
