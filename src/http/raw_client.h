// For the tests of the server: a socket that sends exactly what it is told.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skald::http {

class RawClient {
 public:
  // `from`: the address that the server sees, one of 127.0.0.0/8.
  explicit RawClient(std::uint16_t port, int patience_seconds = 20, std::string_view from = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    ::inet_pton(AF_INET, std::string(from).c_str(), &own.sin_addr);
    ::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // A server that never answers must fail the test, not hang it.
    const timeval patience{patience_seconds, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
    ::close(fd_);
    throw std::runtime_error("cannot connect");
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { ::close(fd_); }

  // False once the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }

  // One response by its Content-Length; what there is where the server closes.
  std::string read_response(bool with_body = true) {
    while (in_.find("\r\n\r\n") == std::string::npos)
      if (!fill()) return take(in_.size());
    const std::size_t head = in_.find("\r\n\r\n") + 4;
    const std::size_t at = in_.find("Content-Length: ");
    const std::size_t length = with_body && at < head ? std::stoul(in_.substr(at + 16)) : 0;
    while (in_.size() < head + length)
      if (!fill()) break;
    return take(head + length);
  }
  // Everything up to and including `mark`, or until the server closes.
  std::string read_until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = in_.find(mark)) == std::string::npos)
      if (!fill()) return take(in_.size());
    return take(at + mark.size());
  }
  std::string read_to_end() {
    while (fill()) {}
    return take(in_.size());
  }

 private:
  bool fill() {
    char bytes[4096];
    ssize_t got = 0;
    do got = ::recv(fd_, bytes, sizeof bytes, 0);  // with a time limit, it is interrupted by whatever signal comes
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      throw std::runtime_error("the server said nothing for too long");
    if (got > 0) in_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }
  std::string take(std::size_t size) {
    std::string out = in_.substr(0, size);
    in_.erase(0, size);
    return out;
  }

  int fd_;
  std::string in_;
};

}  // namespace skald::http
