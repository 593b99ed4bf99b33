#include "cli/secret_in_url.h"

#include <string_view>

namespace skald::cli {
namespace {

// As libpq reads it: what stands in front of the first '@', unless a '/' comes first.
std::string_view user_info(std::string_view behind_scheme) {
  const std::size_t end = behind_scheme.find_first_of("@/");
  return end == behind_scheme.npos || behind_scheme[end] == '/' ? "" : behind_scheme.substr(0, end);
}

bool has_password_parameter(std::string_view url) {
  std::size_t at = url.find('?');
  while (at != url.npos) {
    url.remove_prefix(at + 1);
    const std::string_view name = url.substr(0, url.find_first_of("=&"));
    // libpq decodes names as well; nobody writes one so who has nothing to hide.
    if (name == "password" || name == "sslpassword" || name.find('%') != name.npos) return true;
    at = url.find('&');
  }
  return false;
}

}  // namespace

bool has_password(std::string_view urls) {
  if (has_password_parameter(urls)) return true;
  constexpr std::string_view kScheme = "://";
  for (std::size_t at = urls.find(kScheme); at != urls.npos; at = urls.find(kScheme, at + 1)) {
    const std::string_view user = user_info(urls.substr(at + kScheme.size()));
    const std::string_view before = urls.substr(0, at);
    const bool nats = before.ends_with("nats") || before.ends_with("tls");  // there a name alone is a token
    const std::size_t colon = user.find(':');
    if (colon != user.npos ? colon + 1 < user.size() : nats && !user.empty()) return true;
  }
  return false;
}

}  // namespace skald::cli
