#include "bus/nats/options.h"

#include <algorithm>
#include <new>

#include "skald/error.h"

namespace skald {
namespace {

std::string host_of(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  if (const auto at = url.rfind('@'); at != url.npos) url.remove_prefix(at + 1);
  return std::string(url.substr(0, url.find('/')));
}

void check_url(const std::string& url) {
  if (!url.starts_with("nats://") && !url.starts_with("tls://"))
    throw Invalid("NATS_URL", "a NATS URL starts with nats:// or tls://, like nats://127.0.0.1:4222");
  if (url.find('@') != url.npos)
    throw Invalid("NATS_URL", "a NATS URL must not carry credentials; set user and password, or a token");
  if (host_of(url).empty() || url.size() > 2048) throw Invalid("NATS_URL", "a NATS URL needs a host");
}

void check_options(const NatsOptions& options) {
  if (options.urls.empty()) throw Invalid("NATS_URL", "NATS needs the URL of a server, like nats://127.0.0.1:4222");
  for (const std::string& url : options.urls) check_url(url);
  const int ways =
      !options.user.empty() + !options.token.empty() + !options.credentials_file.empty() + !options.nkey.empty();
  if (ways > 1)
    throw Invalid("NATS_AUTH", "set one way to authenticate with NATS: user, token, credentials file or nkey");
  if (options.user.empty() != options.password.empty())
    throw Invalid("NATS_AUTH", "user and password for NATS belong together; set both or none");
  if (options.nkey.empty() != options.nkey_seed_file.empty())
    throw Invalid("NATS_AUTH", "an nkey for NATS needs the file with its seed");
  if (options.tls.certificate_file.empty() != options.tls.key_file.empty())
    throw Invalid("NATS_TLS", "the client's certificate and its key for NATS belong together; set both or none");
  if (options.connect_timeout <= 0ms || options.reconnect_min <= 0ms || options.reconnect_max < options.reconnect_min)
    throw Invalid("NATS_LIMIT", "timeouts and pauses of a NATS connection must be above zero, the longest pause last");
}

// cnats' own texts may repeat what they were given, so only `what` is shown.
void check(natsStatus status, const char* code, const char* what) {
  if (status == NATS_NO_MEMORY) throw std::bad_alloc();
  if (status != NATS_OK) throw Invalid(code, what);
}

void set_tls(natsOptions* out, const NatsOptions& options) {
  const NatsOptions::Tls& tls = options.tls;
  const bool by_url =
      std::any_of(options.urls.begin(), options.urls.end(), [](const auto& url) { return url.starts_with("tls://"); });
  if (!tls.required && !by_url && tls.ca_file.empty() && tls.certificate_file.empty()) return;
  check(natsOptions_SetSecure(out, true), "NATS_TLS", "the NATS library was built without TLS");
  if (!tls.ca_file.empty())
    check(natsOptions_LoadCATrustedCertificates(out, tls.ca_file.c_str()), "NATS_TLS",
          "the file of trusted authorities for NATS cannot be read; it must hold certificates as PEM");
  if (!tls.certificate_file.empty())
    check(natsOptions_LoadCertificatesChain(out, tls.certificate_file.c_str(), tls.key_file.c_str()), "NATS_TLS",
          "the client's certificate or key for NATS cannot be read; both must be PEM and belong together");
}

void set_credentials(natsOptions* out, const NatsOptions& options) {
  if (!options.user.empty())
    check(natsOptions_SetUserInfo(out, options.user.c_str(), options.password.c_str()), "NATS_AUTH",
          "user and password for NATS cannot be used");
  if (!options.token.empty())
    check(natsOptions_SetToken(out, options.token.c_str()), "NATS_AUTH", "the token for NATS cannot be used");
  if (!options.credentials_file.empty())
    check(natsOptions_SetUserCredentialsFromFiles(out, options.credentials_file.c_str(), nullptr), "NATS_AUTH",
          "the credentials file for NATS cannot be used");
  if (!options.nkey.empty())
    check(natsOptions_SetNKeyFromSeed(out, options.nkey.c_str(), options.nkey_seed_file.c_str()), "NATS_AUTH",
          "the nkey for NATS cannot be used");
}

}  // namespace

NatsOptionsHandle make_nats_options(const NatsOptions& options) {
  check_options(options);
  natsOptions* created = nullptr;
  check(natsOptions_Create(&created), "NATS_LIMIT", "the NATS library cannot be initialized");
  NatsOptionsHandle out(created);
  std::vector<const char*> urls;
  for (const std::string& url : options.urls) urls.push_back(url.c_str());
  check(natsOptions_SetServers(created, urls.data(), static_cast<int>(urls.size())), "NATS_URL",
        "a NATS URL cannot be read; write it like nats://127.0.0.1:4222");
  const char* limits = "a limit of the NATS connection cannot be used";
  check(natsOptions_SetName(created, options.name.c_str()), "NATS_LIMIT", limits);
  check(natsOptions_SetTimeout(created, options.connect_timeout.count()), "NATS_LIMIT", limits);
  check(natsOptions_SetWriteDeadline(created, 2000), "NATS_LIMIT", limits);
  check(natsOptions_SetPingInterval(created, 2'000), "NATS_LIMIT", limits);
  check(natsOptions_SetMaxPingsOut(created, 2), "NATS_LIMIT", limits);
  // Else the library's flusher adds a millisecond to every message.
  check(natsOptions_SetSendAsap(created, true), "NATS_LIMIT", limits);
  // Not a thread for each subscription: a letterbox has one for each partition.
  check(natsOptions_UseGlobalMessageDelivery(created, true), "NATS_LIMIT", limits);
  // Only what was configured: an address that a server tells of may lead past a firewall or a proxy.
  check(natsOptions_SetIgnoreDiscoveredServers(created, true), "NATS_LIMIT", limits);
  set_tls(created, options);
  set_credentials(created, options);
  return out;
}

std::string nats_hosts(const NatsOptions& options) {
  std::string out;
  for (const std::string& url : options.urls) out += (out.empty() ? "" : ", ") + host_of(url);
  return out;
}

void check_nats_name(std::string_view what, std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), fits))
    throw Invalid("NATS_NAME", std::string(what) + " must be 1 to 64 letters, digits, '_' or '-' to be a name in NATS");
}

}  // namespace skald
