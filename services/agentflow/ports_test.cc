#include "agentflow/ports.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentflow {
namespace {

// Somebody who listens on a port that the machine chooses, on this machine's own address.
class PortListener {
 public:
  explicit PortListener(int family) : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6, six.sin6_addr = in6addr_loopback;
    sockaddr_in four{};
    four.sin_family = AF_INET, four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_four = family == AF_INET;
    auto* const address = is_four ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    socklen_t size = is_four ? sizeof four : sizeof six;
    if (::bind(socket_, address, size) != 0 || ::listen(socket_, 1) != 0) return;
    ::getsockname(socket_, address, &size);
    port_ = ntohs(is_four ? four.sin_port : six.sin6_port);
  }
  ~PortListener() { ::close(socket_); }

  int port() const { return port_; }  // 0: the machine has no such addresses

 private:
  int socket_, port_ = 0;
};

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
    int port = 0;
    {
      const PortListener listener(family);
      if ((port = listener.port()) == 0) continue;
      EXPECT_FALSE(is_port_free(port)) << family;
    }
    EXPECT_TRUE(is_port_free(port)) << family;
  }
}

}  // namespace
}  // namespace agentflow
