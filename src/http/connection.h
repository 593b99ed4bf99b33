// What the parts of the server share. Included by its own sources only, since it
// brings Asio along; everything here belongs to the network thread except where
// it says otherwise.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "http/host.h"
#include "http/server.h"
#include "http/shares.h"

namespace skald::http {

using Socket = boost::asio::ip::tcp::socket;
using Failure = boost::system::error_code;

// A client's connection: a session of requests, or a stream. Core owns it until
// it calls Core::forget; handlers under way keep it alive beyond that.
class Connection {
 public:
  explicit Connection(std::string peer) : peer_(std::move(peer)) {}
  virtual ~Connection() = default;
  const std::string& peer() const { return peer_; }  // who is at the other end
  // Ends as soon as what is under way is done.
  virtual void wind_down() = 0;
  // Ends now. Idempotent.
  virtual void close() = 0;

 private:
  const std::string peer_;
};

// Kept alive by the jobs on worker threads: they may end after the server.
struct Core : std::enable_shared_from_this<Core> {
  Core(Env e, ServerOptions o, const Routes& r, Publisher& p, Post post_job)
      : env(e), options(std::move(o)), routes(r), publisher(p), post(std::move(post_job)) {}

  void keep(std::shared_ptr<Connection> connection) {
    peer_connections.add(connection->peer(), 1);
    connections.insert(std::move(connection));
    env.observer.gauge("http_connections", static_cast<double>(connections.size()));
  }
  void forget(const std::shared_ptr<Connection>& connection) {
    if (connections.erase(connection) == 0) return;
    peer_connections.remove(connection->peer(), 1);
    env.observer.gauge("http_connections", static_cast<double>(connections.size()));
    if (stopping && connections.empty()) drained();
  }

  Env env;
  const ServerOptions options;
  const Routes& routes;
  Publisher& publisher;
  const Post post;
  std::unique_ptr<const HostGuard> guard;  // set once the port is known
  std::atomic<std::size_t> waiting = 0;    // posted requests that no worker has taken up; any thread
  std::size_t body_bytes = 0;              // that have come, of options.bodies_bytes_max
  Shares peer_bodies, subject_bodies;      // whose they are
  Shares peer_connections;
  std::size_t streams = 0;
  Shares subject_streams;                  // whose they are
  bool stopping = false;
  std::function<void()> drained;           // called when stopping and the last connection is gone

  boost::asio::io_context io{1};
  // Behind `io`: sockets must go before it.
  std::unordered_set<std::shared_ptr<Connection>> connections;
};

// A deadline that can be moved; one that fires late, after it was moved, is dropped.
class Deadline {
 public:
  explicit Deadline(boost::asio::io_context& io) : timer_(io) {}

  // `fire` must keep its owner alive.
  template <class F>
  void set(Duration after, F fire) {
    const auto mine = ++generation_;
    timer_.expires_after(after);
    timer_.async_wait([this, mine, fire = std::move(fire)](Failure failure) {
      if (!failure && mine == generation_) fire();
    });
  }
  void cancel() {
    ++generation_;
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  std::uint64_t generation_ = 0;
};

// Starts serving requests on a fresh socket.
void start_session(Core& core, Socket socket, std::string peer);

// What a session leaves to the stream that it becomes.
struct Opening {
  Stream stream;
  std::string head;  // of the response, blank line included
  bool chunked;      // the client speaks HTTP/1.1
  std::string peer;
  std::string holder;         // whose it is
  std::optional<Time> until;  // it ends then at the latest
};
void start_event_stream(Core& core, Socket socket, Opening opening);

}  // namespace skald::http
