#include "host/nats_settings.h"

#include <algorithm>

namespace skald::host {
namespace {

bool is_nats(std::string_view url) { return url.starts_with("nats://") || url.starts_with("tls://"); }

}  // namespace

bool uses_nats(const cli::Settings& settings) {
  if (settings.text("bus") == "memory:") return false;
  const auto urls = settings.list("bus");
  if (urls.empty() || !std::ranges::all_of(urls, is_nats))
    throw Invalid("BAD_SETTING", "bus must be memory:, or nats://host:port or tls://host:port, several by commas");
  return true;
}

NatsOptions nats_options(const cli::Settings& settings) {
  NatsOptions out;
  out.urls = settings.list("bus");
  out.user = settings.text("nats.user");
  out.password = settings.text("nats.password");
  out.token = settings.text("nats.token");
  out.credentials_file = settings.text("nats.creds");
  out.nkey = settings.text("nats.nkey");
  out.nkey_seed_file = settings.text("nats.nkey_seed");
  out.tls.required = std::ranges::any_of(out.urls, [](const std::string& url) { return url.starts_with("tls://"); });
  out.tls.ca_file = settings.text("nats.ca");
  out.tls.certificate_file = settings.text("nats.cert");
  out.tls.key_file = settings.text("nats.key");
  if (!out.tls.required && !(out.tls.ca_file + out.tls.certificate_file + out.tls.key_file).empty())
    throw Invalid("BAD_SETTING", "nats.ca, nats.cert and nats.key are for tls://, and bus is not");
  return out;
}

}  // namespace skald::host
