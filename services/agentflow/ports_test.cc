#include "agentflow/ports.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentflow {
namespace {

// Somebody who listens on that port, on this machine's own address alone.
class PortListener {
 public:
  PortListener(int family, int port) : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6, six.sin6_addr = in6addr_loopback, six.sin6_port = htons(port);
    sockaddr_in four{};
    four.sin_family = AF_INET, four.sin_addr.s_addr = htonl(INADDR_LOOPBACK), four.sin_port = htons(port);
    const bool is_four = family == AF_INET;
    const auto* const address =
        is_four ? reinterpret_cast<const sockaddr*>(&four) : reinterpret_cast<const sockaddr*>(&six);
    listens_ = ::bind(socket_, address, is_four ? sizeof four : sizeof six) == 0 && ::listen(socket_, 1) == 0;
  }
  ~PortListener() { ::close(socket_); }

  bool listens() const { return listens_; }  // false: the machine has no such addresses

 private:
  int socket_;
  bool listens_ = false;
};

// Below those that the machine gives to others by itself.
int free_port() {
  int port = 31'000 + getpid() % 500;
  while (!is_port_free(port)) ++port;
  return port;
}

TEST(Ports, ARangeIsReadWithBothItsEnds) {
  EXPECT_EQ(port_range("20000-29999").first, 20'000);
  EXPECT_EQ(port_range("20000-29999").last, 29'999);
  EXPECT_EQ(port_range("65535-65535").first, 65'535);
  const PortRange none = port_range("");
  EXPECT_GT(none.first, none.last);
}

TEST(Ports, WhatIsNoRangeIsRefused) {
  for (const char* text : {"20000", "-", "20000-", "-29999", "29999-20000", "1023-2000", "2000-65536", "2000-3000-4000",
                           " 2000-3000", "2000 - 3000", "a-b", "2000-99999999999"})
    EXPECT_THROW(port_range(text), skald::Invalid) << text;
}

TEST(Ports, APortIsTakenWhileSomebodyListensOnAnyAddress) {
  for (const int family : {AF_INET, AF_INET6}) {
    const int port = free_port();
    {
      const PortListener listener(family, port);
      if (!listener.listens()) continue;
      EXPECT_FALSE(is_port_free(port)) << family;
    }
    EXPECT_TRUE(is_port_free(port)) << family;
  }
}

}  // namespace
}  // namespace agentflow
