#include "support/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>

namespace skald::test {
namespace {

constexpr int kPortFirst = 20'000, kPortLast = 32'000;

bool is_free_port(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return bound;
}

}  // namespace

// Counted on from this process's id, so that two runs at once begin at different places.
std::uint16_t free_port() {
  static std::mutex mutex;
  static int next = kPortFirst + getpid() * 16 % (kPortLast - kPortFirst);
  const std::lock_guard lock(mutex);
  for (int tries = 0; tries < kPortLast - kPortFirst; ++tries) {
    if (++next > kPortLast) next = kPortFirst;
    if (is_free_port(next)) return static_cast<std::uint16_t>(next);
  }
  throw std::runtime_error("no port is free");
}

}  // namespace skald::test
