#include "http/host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace skald::http {
namespace {

constexpr std::size_t kAuthorityBytesMax = 260;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}
bool is_address_character(char c) { return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.'; }

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<Authority> parse_authority(std::string_view given) {
  if (given.size() > kAuthorityBytesMax) return std::nullopt;
  const std::string text = lower_case(given);
  std::string_view name = text, port;
  bool has_port = false;
  if (!text.empty() && text[0] == '[') {
    const auto end = text.find(']');
    if (end == std::string::npos) return std::nullopt;
    name = std::string_view(text).substr(1, end - 1);
    std::string_view rest = std::string_view(text).substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return std::nullopt;
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
    if (!std::ranges::all_of(name, is_address_character)) return std::nullopt;
  } else {
    const auto colon = text.find(':');
    has_port = colon != std::string::npos;
    name = name.substr(0, colon);
    if (has_port) port = std::string_view(text).substr(colon + 1);
    if (!std::ranges::all_of(name, is_name_character)) return std::nullopt;
  }
  if (name.empty()) return std::nullopt;
  Authority out{std::string(name), std::nullopt};
  if (has_port) {
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number == 0) return std::nullopt;
    out.port = number;
  }
  return out;
}

bool is_loopback(std::string_view host) {
  std::string name = lower_case(host);
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  if (name == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, name.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

HostGuard::HostGuard(std::string_view listening, std::uint16_t port, const std::vector<std::string>& allowed_hosts)
    : listening_(lower_case(listening)), port_(port) {
  for (const auto& text : allowed_hosts) {
    const auto host = parse_authority(text);
    if (!host) throw Invalid("BAD_ALLOWED_HOST", "an allowed host must be a name, with or without a port: " + text);
    allowed_.push_back(*host);
  }
}

std::optional<Problem> HostGuard::check(std::string_view host_text, std::string_view origin,
                                        std::string_view local_address) const {
  const auto host = parse_authority(host_text);
  if (!host) return Problem{400, "BAD_HOST", "the Host header is missing or cannot be read", {}};
  if (!is_ours(*host, local_address) && !is_allowed(*host))
    return Problem{
        421, "MISDIRECTED_HOST", "this server does not answer for that Host; add it to http.allowed_hosts", {}};

  if (origin.empty()) return std::nullopt;
  const bool secure = origin.starts_with("https://");
  if (secure || origin.starts_with("http://")) {
    const std::uint16_t usual = secure ? 443 : 80;
    const auto from = parse_authority(origin.substr(secure ? 8 : 7));
    const bool same = from && from->name == host->name && from->port.value_or(usual) == host->port.value_or(usual);
    if (same || (from && is_allowed(*from))) return std::nullopt;
  }
  return Problem{403,
                 "FORBIDDEN_ORIGIN",
                 "requests of pages from that Origin are refused; add its host to http.allowed_hosts",
                 {}};
}

bool HostGuard::is_ours(const Authority& host, std::string_view local_address) const {
  if (host.port && *host.port != port_) return false;
  return host.name == listening_ || host.name == "localhost" || host.name == "127.0.0.1" || host.name == "::1" ||
         host.name == local_address;
}

bool HostGuard::is_allowed(const Authority& host) const {
  return std::ranges::any_of(allowed_, [&](const Authority& known) {
    return known.name == host.name && (!known.port || known.port == host.port);
  });
}

}  // namespace skald::http
