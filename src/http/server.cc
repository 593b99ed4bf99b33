#include "http/server.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <mutex>

#include "http/connection.h"
#include "http/date.h"

namespace skald::http {
namespace {

using boost::asio::ip::tcp;

constexpr Duration kAcceptPause = 100ms;

std::string no_room_answer(Time now) {
  return "HTTP/1.1 503 Service Unavailable\r\ndate: " + http_date(now) +
         "\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
}

// Who is at the other end, as far as shares are concerned: of IPv6 whoever has one address has
// a whole /64 of them.
std::string peer_name(const Socket& socket) {
  Failure failure;
  const auto address = socket.remote_endpoint(failure).address();
  if (failure) return "";
  if (address.is_v4()) return address.to_string();
  const auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) return make_address_v4(boost::asio::ip::v4_mapped, v6).to_string();
  auto bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  return boost::asio::ip::address_v6(bytes).to_string() + "/64";
}

std::size_t share_of(std::size_t all, double share, std::size_t least) {
  return std::max(least, static_cast<std::size_t>(static_cast<double>(all) * share));
}

[[noreturn]] void cannot_listen(const ServerOptions& options, const Failure& failure) {
  throw Unavailable("CANNOT_LISTEN", "cannot listen on " + options.host + ":" + std::to_string(options.port) + ": " +
                                         failure.message() + "; choose another address with --listen");
}

}  // namespace

std::size_t ServerOptions::peer_connections_max() const { return share_of(connections_max, peer_share, 1); }
std::size_t ServerOptions::peer_bodies_bytes_max() const {
  return share_of(bodies_bytes_max, peer_share, std::min(body_bytes_max, bodies_bytes_max));
}

class Server::Listener {
 public:
  Listener(std::shared_ptr<Core> core)
      : core_(std::move(core)),
        work_(boost::asio::make_work_guard(core_->io)),
        acceptor_(core_->io),
        accept_pause_(core_->io),
        grace_(core_->io) {
    listen();
    core_->guard = std::make_unique<HostGuard>(core_->options.host, port(), core_->options.allowed_hosts);
    core_->drained = [this] { finish(); };
    accept();
  }

  std::uint16_t port() const { return port_; }

  void run() {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_before_run_) return;
      running_ = true;
    }
    core_->io.run();
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  void stop(Duration grace) {
    std::unique_lock lock(mutex_);
    if (!running_) {
      stopped_before_run_ = true;
      return;
    }
    boost::asio::post(core_->io, [this, grace] { wind_down(grace); });
    changed_.wait(lock, [this] { return finished_; });
  }

 private:
  void listen() {
    const ServerOptions& options = core_->options;
    Failure failure;
    tcp::resolver resolver(core_->io);
    const auto found = resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, failure);
    if (failure || found.empty()) cannot_listen(options, failure);
    const tcp::endpoint endpoint = *found.begin();
    acceptor_.open(endpoint.protocol(), failure);
    if (!failure) acceptor_.set_option(tcp::acceptor::reuse_address(true), failure);
    if (!failure) acceptor_.bind(endpoint, failure);
    if (!failure) acceptor_.listen(boost::asio::socket_base::max_listen_connections, failure);
    if (!failure) port_ = acceptor_.local_endpoint(failure).port();
    if (failure) cannot_listen(options, failure);
  }

  void accept() {
    acceptor_.async_accept([this](Failure failure, Socket socket) {
      if (core_->stopping) return;
      if (failure) {
        // Out of descriptors, most likely: they come back as connections end.
        core_->env.observer.count("http_accept_failures_total");
        return accept_pause_.set(kAcceptPause, [this] { accept(); });
      }
      std::string peer = peer_name(socket);
      if (core_->connections.size() < core_->options.connections_max &&
          core_->peer_connections.held(peer) < core_->options.peer_connections_max()) {
        start_session(*core_, std::move(socket), std::move(peer));
      } else {
        // A fresh socket has room for these few bytes; if not, closing says it too.
        Failure ignored;
        socket.non_blocking(true, ignored);
        socket.write_some(boost::asio::buffer(no_room_answer(core_->env.clock.now())), ignored);
        core_->env.observer.count("http_connections_refused_total");
      }
      accept();
    });
  }

  void wind_down(Duration grace) {
    if (core_->stopping) return;
    core_->stopping = true;
    accept_pause_.cancel();
    Failure ignored;
    acceptor_.close(ignored);
    if (core_->connections.empty()) return finish();
    grace_.set(grace, [this] { for_each([](Connection& connection) { connection.close(); }); });
    for_each([](Connection& connection) { connection.wind_down(); });
  }

  // On a copy: connections leave the set as they close.
  template <class F>
  void for_each(F&& visit) {
    const auto all = core_->connections;
    for (const auto& connection : all) visit(*connection);
  }

  void finish() {
    grace_.cancel();
    work_.reset();
  }

  std::shared_ptr<Core> core_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  tcp::acceptor acceptor_;
  Deadline accept_pause_, grace_;
  std::uint16_t port_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool running_ = false, finished_ = false, stopped_before_run_ = false;
};

Server::Server(Env env, ServerOptions options, const Routes& routes, Publisher& publisher, Post post)
    : listener_(std::make_unique<Listener>(
          std::make_shared<Core>(env, std::move(options), routes, publisher, std::move(post)))) {}

Server::~Server() = default;

std::uint16_t Server::port() const { return listener_->port(); }
void Server::run() { listener_->run(); }
void Server::stop(Duration grace) { listener_->stop(grace); }

}  // namespace skald::http
