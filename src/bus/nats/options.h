// How to reach a NATS server.
#pragma once

#include <nats/nats.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/time.h"

namespace skald {

// At most one of user, token, credentials_file and nkey. Secrets stay in here:
// no error, log line or connection name shows them.
struct NatsOptions {
  std::vector<std::string> urls;  // nats://host:port or tls://host:port, without credentials
  std::string name = "skald";     // of the connection, in the server's listings

  std::string user, password;
  std::string token;
  // libnats 3.4 leaves out a signature whose first byte is zero: with these two one
  // attempt in 256 is refused ("Authorization Violation"), and the next one succeeds.
  std::string credentials_file;      // a .creds file: JWT and seed
  std::string nkey, nkey_seed_file;  // the public key, and the file with its seed

  struct Tls {
    bool required = false;
    std::string ca_file;                     // empty: the system's authorities
    std::string certificate_file, key_file;  // the client's own, where the server asks for one
  } tls;

  // Of one attempt at one server. The first two attempts after a lost connection
  // are made inside of poll(): where packets vanish it takes that much longer.
  std::chrono::milliseconds connect_timeout = 1s;
  // Between attempts, for ever: doubles from the first to the second, jittered.
  std::chrono::milliseconds reconnect_min = 50ms, reconnect_max = 5s;
};

struct FreeNatsOptions {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using NatsOptionsHandle = std::unique_ptr<natsOptions, FreeNatsOptions>;

// Everything but the callbacks. Throws Invalid (NATS_URL, NATS_AUTH, NATS_TLS,
// NATS_LIMIT) with a sentence for options that cannot work.
NatsOptionsHandle make_nats_options(const NatsOptions& options);

// The hosts and ports alone, for errors: "a.example:4222, b.example:4222".
std::string nats_hosts(const NatsOptions& options);

// Throws Invalid (NATS_NAME) for what is not 1 to 64 of A-Z a-z 0-9 _ -: names
// become parts of subjects, where '.', '*' and '>' mean something.
void check_nats_name(std::string_view what, std::string_view name);

}  // namespace skald
