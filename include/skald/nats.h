// How to reach a NATS server: for skald/jetstream.h, and for the server program's own connections.
//
//   NatsOptions nats{.urls = {"tls://nats.example:4222"}, .credentials_file = "/etc/shop.creds"};
//
// A plain value. It is checked by whoever is given it: Invalid (NATS_URL, NATS_AUTH, NATS_TLS, NATS_LIMIT) with a
// sentence. Secrets stay in here: no error, log line or connection name shows them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "skald/time.h"

namespace skald {

// At most one of user, token, credentials and nkey.
struct NatsOptions {
  std::vector<std::string> urls = {};  // nats://host:port or tls://host:port, without credentials
  std::string name = "skald";          // of the connection, in the server's listings

  std::string user = {}, password = {};
  std::string token = {};
  // libnats 3.4 leaves out a signature whose first byte is zero: with these two one
  // attempt in 256 is refused ("Authorization Violation"), and the next one succeeds.
  std::string credentials_file = {};           // a .creds file: JWT and seed
  std::string nkey = {}, nkey_seed_file = {};  // the public key, and the file with its seed

  struct Tls {
    bool required = false;
    std::string ca_file = {};                          // empty: the system's authorities
    std::string certificate_file = {}, key_file = {};  // the client's own, where the server asks for one
  };
  Tls tls = {};

  // Of one attempt at one server. The first two attempts after a lost connection
  // are made inside of poll(): where packets vanish it takes that much longer.
  std::chrono::milliseconds connect_timeout = 1s;
  // Between attempts, for ever: doubles from the first to the second, jittered.
  std::chrono::milliseconds reconnect_min = 50ms, reconnect_max = 5s;
};

}  // namespace skald
