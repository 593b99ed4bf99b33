// The HTTP/1.1 server: sockets, limits, timeouts. What requests mean is the
// matter of Routes; the server only brings them there and the answers back.
//
// One thread, handed in by calling run(), does all of the network; handlers run
// wherever `post` brings them, since they block on the database. Memory is
// bounded by the options, whatever clients send.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/router.h"
#include "http/sse.h"
#include "skald/env.h"

namespace skald::http {

struct ServerOptions {
  std::string host = "127.0.0.1";           // an address, or a name that resolves to one
  std::uint16_t port = 8080;                // 0: a free one
  std::vector<std::string> allowed_hosts = {};  // see HostGuard
  std::size_t header_bytes_max = 16 * 1024;
  std::size_t body_bytes_max = 1024 * 1024;
  std::size_t bodies_bytes_max = 64 * 1024 * 1024;  // of all requests under way together, as far as they have come
  std::size_t subject_bodies_bytes_max = 16 * 1024 * 1024;  // of those of one caller
  Duration header_timeout = 10s;            // from the first byte of a request
  Duration body_timeout = 30s;              // for a body to come, and for an answer to be taken
  Duration idle_timeout = 60s;              // between requests
  Duration heartbeat = 15s;                 // comments on streams that have nothing to tell
  std::size_t connections_max = 2048;
  double peer_share = 0.5;                  // of connections and bodies, for one address (IPv6: one /64)
  std::size_t streams_max = 256;
  std::size_t streams_per_subject = 64;
  std::size_t waiting_max = 512;            // requests that no worker has taken up yet

  // At least one, and at least one body.
  std::size_t peer_connections_max() const;
  std::size_t peer_bodies_bytes_max() const;
};

// Runs a job on a worker thread, soon. Must not run it at once and must not throw.
using Post = std::function<void(std::function<void()>)>;

class Server {
 public:
  // Listens from here on; Unavailable (CANNOT_LISTEN) where it cannot. `routes`,
  // `publisher` and `env` outlive the server and every job it has posted.
  Server(Env env, ServerOptions options, const Routes& routes, Publisher& publisher, Post post);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // after run() has returned

  std::uint16_t port() const;

  // Serves until stop(); on one thread, once.
  void run();

  // Stops accepting, ends streams, lets requests under way finish for up to
  // `grace`, then cuts what is left. Returns once run() has returned (or will not
  // begin). From any thread but run()'s; may be called again.
  void stop(Duration grace);

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace skald::http
