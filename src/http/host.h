// Host and Origin: a page of another site must not reach a server on loopback
// through the browser, neither by a name that it lets point here (DNS rebinding)
// nor by a cross-site request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/problem.h"

namespace skald::http {

// "example.org:8080" -> name and port; brackets of IPv6 taken off, lower case.
struct Authority {
  std::string name;
  std::optional<std::uint16_t> port;
  bool operator==(const Authority&) const = default;
};
std::optional<Authority> parse_authority(std::string_view text);

std::string lower_case(std::string_view text);
bool is_loopback(std::string_view host);

// Immutable, usable from any thread.
class HostGuard {
 public:
  // `listening` is the configured host. `allowed_hosts` are further names, with a
  // port to mean that one only; they are also taken as origins. Invalid
  // (BAD_ALLOWED_HOST) where one cannot be read.
  HostGuard(std::string_view listening, std::uint16_t port, const std::vector<std::string>& allowed_hosts);

  // The reason to refuse a request, if there is one. `local_address` is the
  // address the connection came in on; an absent Origin is empty.
  std::optional<Problem> check(std::string_view host, std::string_view origin, std::string_view local_address) const;

 private:
  bool is_ours(const Authority& host, std::string_view local_address) const;
  bool is_allowed(const Authority& host) const;

  std::string listening_;
  std::uint16_t port_;
  std::vector<Authority> allowed_;
};

}  // namespace skald::http
