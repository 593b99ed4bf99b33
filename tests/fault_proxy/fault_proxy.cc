#include "fault_proxy/fault_proxy.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace skald::test {
namespace {

constexpr std::size_t kWaitingMax = 1 << 20;
constexpr FaultProxy::Direction kDirections[] = {FaultProxy::Direction::to_server, FaultProxy::Direction::to_client};

std::size_t index(FaultProxy::Direction direction) { return static_cast<std::size_t>(direction); }

void make_prompt(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

// -1 where nobody answers there.
int connect_to(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  int out = -1;
  for (const addrinfo* address = found; address != nullptr && out < 0; address = address->ai_next) {
    out = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
    if (::connect(out, address->ai_addr, address->ai_addrlen) == 0) break;
    ::close(out);
    out = -1;
  }
  ::freeaddrinfo(found);
  return out;
}

}  // namespace

FaultProxy::FaultProxy(std::string host, int port) : host_(std::move(host)), server_port_(port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 512) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ::close(listener_);
    throw std::runtime_error("FaultProxy cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  waker_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

FaultProxy::~FaultProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  for (Link& link : links_) close(link);
  ::close(listener_);
  ::close(waker_);
}

std::string FaultProxy::postgres_url(const std::string& url) const {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + "host=127.0.0.1&port=" + std::to_string(port_);
}

void FaultProxy::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker_, &one, sizeof one);
}

void FaultProxy::cut_after(Direction direction, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  left_[index(direction)] = bytes;
}

void FaultProxy::at_message(std::string bytes, Fault fault) {
  const std::lock_guard lock(mutex_);
  at_message_ = AtMessage{std::move(bytes), fault};
}

void FaultProxy::cut_all() {
  std::unique_lock lock(mutex_);
  cutting_all_ = true;
  wake();
  changed_.wait(lock, [&] { return !cutting_all_; });
}

void FaultProxy::hold(Direction direction) {
  const std::lock_guard lock(mutex_);
  held_[index(direction)] = true;
}

void FaultProxy::release(Direction direction) {
  {
    const std::lock_guard lock(mutex_);
    held_[index(direction)] = false;
  }
  wake();
}

void FaultProxy::wait_for_held(Direction direction) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return held_[index(direction)] &&
           std::ranges::any_of(links_, [&](const Link& link) { return !link.lanes[index(direction)].waiting.empty(); });
  });
}

void FaultProxy::refuse(bool refused) {
  const std::lock_guard lock(mutex_);
  refused_ = refused;
}

void FaultProxy::forgive() {
  {
    const std::lock_guard lock(mutex_);
    for (const Direction direction : kDirections) {
      left_[index(direction)].reset();
      held_[index(direction)] = false;
    }
    at_message_.reset();
    refused_ = false;
  }
  wake();
}

std::uint64_t FaultProxy::passed(Direction direction) const {
  const std::lock_guard lock(mutex_);
  return passed_[index(direction)];
}

int FaultProxy::round_trips() const {
  const std::lock_guard lock(mutex_);
  return round_trips_;
}

int FaultProxy::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

int FaultProxy::cuts() const {
  const std::lock_guard lock(mutex_);
  return cuts_;
}

void FaultProxy::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::vector<pollfd> ready = {{waker_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Link& link : links_) {
      for (const Direction direction : kDirections) {
        const Lane& lane = link.lanes[index(direction)];
        const bool writes = !lane.waiting.empty() && !held_[index(direction)];
        ready.push_back(
            {lane.from, static_cast<short>(lane.waiting.size() < kWaitingMax && !link.cut ? POLLIN : 0), 0});
        ready.push_back({lane.to, static_cast<short>(writes ? POLLOUT : 0), 0});
      }
    }
    lock.unlock();
    ::poll(ready.data(), ready.size(), -1);
    lock.lock();
    if (ready[0].revents != 0) {
      std::uint64_t ignored;
      [[maybe_unused]] const ssize_t got = ::read(waker_, &ignored, sizeof ignored);
    }
    auto polled = ready.begin() + 2;
    for (auto link = links_.begin(); link != links_.end();) {
      bool open = true;
      for (const Direction direction : kDirections) {
        const short readable = (polled++)->revents, writable = (polled++)->revents;
        if (open && readable != 0 && !link->cut) open = read(*link, direction);
        if (open && (writable != 0 || link->cut)) write(*link, direction);
      }
      if (cutting_all_ || link->cut) {
        ++cuts_;
        open = false;
      }
      if (!open) close(*link);
      link = open ? std::next(link) : links_.erase(link);
    }
    cutting_all_ = false;
    if (ready[1].revents != 0) accept_one();
    changed_.notify_all();
  }
}

void FaultProxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  ++connections_;
  const int server = refused_ ? -1 : connect_to(host_, server_port_);
  if (server < 0) {
    ::close(client);
    return;
  }
  make_prompt(client);
  make_prompt(server);
  Link& link = links_.emplace_back();
  link.client = client;
  link.server = server;
  link.lanes[index(Direction::to_server)] = {client, server, {}};
  link.lanes[index(Direction::to_client)] = {server, client, {}};
}

// False where that side has ended: then so does the other.
bool FaultProxy::read(Link& link, Direction direction) {
  char chunk[16384];
  const ssize_t got = ::recv(link.lanes[index(direction)].from, chunk, sizeof chunk, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) {
    for (const Direction each : kDirections) write(link, each);
    return false;
  }
  pass(link, direction, std::string_view(chunk, static_cast<std::size_t>(got)));
  write(link, direction);
  return true;
}

void FaultProxy::pass(Link& link, Direction direction, std::string_view data) {
  if (direction == Direction::to_server && link.answered) ++round_trips_;
  link.answered = direction == Direction::to_client;
  if (direction == Direction::to_client && link.answer_lost) {
    link.cut = true;
    return;
  }
  if (direction == Direction::to_server && at_message_ && match(link, data)) {
    const Fault fault = at_message_->fault;
    at_message_.reset();
    if (fault == Fault::swallow) {
      link.cut = true;
      return;
    }
    link.answer_lost = true;
  }
  auto& left = left_[index(direction)];
  if (left && data.size() > *left) {
    data = data.substr(0, *left);
    left.reset();
    link.cut = true;
  } else if (left) {
    *left -= data.size();
  }
  link.lanes[index(direction)].waiting += data;
}

// Whether at_message_ ends in `data`.
bool FaultProxy::match(Link& link, std::string_view data) {
  const std::string& wanted = at_message_->bytes;
  link.seen += data;
  const bool found = link.seen.find(wanted) != std::string::npos;
  if (link.seen.size() >= wanted.size()) link.seen.erase(0, link.seen.size() - wanted.size() + 1);
  if (found) link.seen.clear();
  return found;
}

void FaultProxy::write(Link& link, Direction direction) {
  Lane& lane = link.lanes[index(direction)];
  while (!lane.waiting.empty() && !held_[index(direction)]) {
    const ssize_t sent = ::send(lane.to, lane.waiting.data(), lane.waiting.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    passed_[index(direction)] += static_cast<std::uint64_t>(sent);
    lane.waiting.erase(0, static_cast<std::size_t>(sent));
  }
}

void FaultProxy::close(Link& link) {
  ::close(link.client);
  ::close(link.server);
}

}  // namespace skald::test
