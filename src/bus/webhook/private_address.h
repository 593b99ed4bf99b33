// Which addresses a webhook must not reach: everything that is not the open
// internet. Asked for the very address that is about to be connected to, so that
// no name can resolve to one thing for the check and another for the connection.
#pragma once

#include <sys/socket.h>

namespace skald {

// Loopback, private, link-local (cloud metadata lives there), carrier NAT,
// multicast, documentation, reserved and unspecified ranges of IPv4 and IPv6,
// and IPv6 forms that carry such an IPv4 address (mapped, translated, NAT64,
// 6to4). A family that is neither counts as private.
bool is_private_address(const sockaddr& address);

}  // namespace skald
