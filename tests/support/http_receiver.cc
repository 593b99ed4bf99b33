#include "support/http_receiver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace skald::test {
namespace {

constexpr std::size_t kRequestMax = 16 << 20;

bool send_all(int socket, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Appends what comes; false at the connection's end.
bool receive(int socket, std::string& buffer) {
  char chunk[16384];
  const ssize_t got = ::recv(socket, chunk, sizeof chunk, 0);
  if (got <= 0 || buffer.size() > kRequestMax) return false;
  buffer.append(chunk, static_cast<std::size_t>(got));
  return true;
}

HttpReceiver::Request parse_head(std::string_view head) {
  HttpReceiver::Request request;
  const auto line = [&] {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view found = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    return found;
  };
  const std::string_view first = line();
  const std::size_t space = std::min(first.find(' '), first.size());
  request.method = first.substr(0, space);
  const std::string_view rest = first.substr(std::min(space + 1, first.size()));
  request.target = rest.substr(0, rest.find(' '));
  while (!head.empty()) {
    const std::string_view header = line();
    const std::size_t colon = header.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(header.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    std::string_view value = header.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    request.headers[name] = value;
  }
  return request;
}

// One request from the front of `buffer`, which keeps what follows it.
std::optional<HttpReceiver::Request> read_request(int socket, std::string& buffer) {
  std::size_t end;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (buffer.starts_with('\x16')) return std::nullopt;  // a TLS hello, which never ends like HTTP
    if (!receive(socket, buffer)) return std::nullopt;
  }
  HttpReceiver::Request request = parse_head(std::string_view(buffer).substr(0, end));
  buffer.erase(0, end + 4);
  const auto length = request.headers.find("content-length");
  const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
  while (buffer.size() < size)
    if (!receive(socket, buffer)) return std::nullopt;
  request.body = buffer.substr(0, size);
  buffer.erase(0, size);
  return request;
}

// Two may be bound to one port, as long as no more than one listens.
int bound_socket(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  throw std::runtime_error("port " + std::to_string(port) + " of 127.0.0.1 is not to be had");
}

int port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("a socket without a port");
  return ntohs(address.sin_port);
}

}  // namespace

void Gate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void Gate::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return open_; });
}

RefusingPort::RefusingPort() : socket_(bound_socket(0)), number_(port_of(socket_)) {}

RefusingPort::~RefusingPort() { ::close(socket_); }

HttpReceiver::HttpReceiver(int port) : listener_(bound_socket(port)) {
  if (::listen(listener_, 512) != 0) throw std::runtime_error("HttpReceiver cannot listen on 127.0.0.1");
  port_ = port_of(listener_);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpReceiver::~HttpReceiver() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& gate : gates_) gate->open();
    for (int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  stopped_.notify_all();
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

std::string HttpReceiver::url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

void HttpReceiver::next(Behaviour behaviour) {
  const std::lock_guard lock(mutex_);
  if (behaviour.gate) gates_.push_back(behaviour.gate);
  next_.push_back(std::move(behaviour));
}

void HttpReceiver::always(Behaviour behaviour) {
  const std::lock_guard lock(mutex_);
  if (behaviour.gate) gates_.push_back(behaviour.gate);
  always_ = std::move(behaviour);
}

std::vector<HttpReceiver::Request> HttpReceiver::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int HttpReceiver::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void HttpReceiver::wait_for_requests(std::size_t count) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return requests_.size() >= count; });
}

void HttpReceiver::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      ::close(socket);
      return;
    }
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket, connection = ++connections_] { serve(socket, connection); });
  }
}

void HttpReceiver::serve(int socket, int connection) {
  std::string buffer;
  while (std::optional<Request> request = read_request(socket, buffer)) {
    request->connection = connection;
    const Behaviour behaviour = record(std::move(*request));
    hold_back(behaviour);
    if (!answer(socket, behaviour)) break;
  }
  const std::lock_guard lock(mutex_);
  std::erase(sockets_, socket);
  ::close(socket);
}

void HttpReceiver::hold_back(const Behaviour& behaviour) {
  if (behaviour.gate) behaviour.gate->wait();
  if (behaviour.latency.count() == 0) return;
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, behaviour.latency, [&] { return stopping_; });
}

HttpReceiver::Behaviour HttpReceiver::record(Request request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(std::move(request));
  arrived_.notify_all();
  if (next_.empty()) return always_;
  Behaviour behaviour = std::move(next_.front());
  next_.pop_front();
  return behaviour;
}

bool HttpReceiver::answer(int socket, const Behaviour& behaviour) {
  std::string out = "HTTP/1.1 " + std::to_string(behaviour.status) + " Scripted\r\n";
  for (const std::string& header : behaviour.headers) out += header + "\r\n";
  out += "Content-Length: " + std::to_string(behaviour.body.size()) + "\r\n\r\n" + behaviour.body;
  switch (behaviour.manner) {
    case Manner::answer: return send_all(socket, out);
    case Manner::hang:
      for (std::string ignored; receive(socket, ignored);) {}
      return false;
    case Manner::close: return false;
    case Manner::close_mid_answer:
      send_all(socket, std::string_view(out).substr(0, out.size() - (behaviour.body.size() + 1) / 2));
      return false;
    case Manner::endless:
      out = "HTTP/1.1 " + std::to_string(behaviour.status) + " Scripted\r\n";
      for (const std::string& header : behaviour.headers) out += header + "\r\n";
      out += "\r\n";
      while (send_all(socket, out)) out = behaviour.body;
      return false;
    case Manner::garbage: send_all(socket, "\x16\x03 this is not HTTP\r\n\r\n"); return false;
  }
  return false;
}

}  // namespace skald::test
