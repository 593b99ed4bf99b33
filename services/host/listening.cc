#include "host/listening.h"

#include <charconv>

#include "http/host.h"

namespace skald::host {
namespace {

// As of a URL, but that port 0 means a free one.
http::Authority listening(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon != text.npos) {
    const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
    const auto host = http::parse_authority(text.substr(0, colon) + ":1");
    if (error == std::errc() && end == text.data() + text.size() && host && !host->name.empty())
      return {host->name, port};
  }
  throw Invalid("BAD_SETTING", "listen must be HOST:PORT, such as 127.0.0.1:8080");
}

}  // namespace

http::ServerOptions server_options(const cli::Settings& settings) {
  const http::Authority address = listening(settings.text("listen"));
  http::refuse_open_listen(address.name, !settings.text("auth.secret").empty());
  http::ServerOptions out;
  out.host = address.name;
  out.port = *address.port;
  out.allowed_hosts = settings.list("http.allowed_hosts");
  const auto number = [&](std::string_view path) { return static_cast<std::size_t>(settings.integer(path)); };
  out.connections_max = number("http.connections_max");
  out.peer_share = settings.fraction("http.peer_share");
  out.streams_max = number("http.streams_max");
  out.streams_per_subject = number("http.streams_per_subject");
  return out;
}

std::string local_address(const http::ServerOptions& options, std::uint16_t port) {
  std::string host = options.host;
  if (host == "0.0.0.0" || host == "::") host = "127.0.0.1";
  if (host.find(':') != host.npos) host = "[" + host + "]";
  return host + ":" + std::to_string(port);
}

}  // namespace skald::host
