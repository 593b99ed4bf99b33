// The proxy itself, between two plain sockets.
#include "fault_proxy/fault_proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace skald::test {
namespace {

using Direction = FaultProxy::Direction;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }
  void send(std::string_view text) const { ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Waits for that many bytes; fewer where the connection ended before.
  std::string receive(std::size_t bytes) const {
    std::string out(bytes, '\0');
    std::size_t size = 0;
    while (size < bytes) {
      const ssize_t got = ::recv(descriptor_, out.data() + size, bytes - size, 0);
      if (got <= 0) break;
      size += static_cast<std::size_t>(got);
    }
    out.resize(size);
    return out;
  }
  bool ended() const { return receive(1).empty(); }

 private:
  int descriptor_;
};

sockaddr_in local(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

struct FaultProxyTest : testing::Test {
  FaultProxyTest() {
    sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    proxy.emplace("127.0.0.1", ntohs(address.sin_port));
  }
  std::unique_ptr<Socket> connect() {
    auto out = std::make_unique<Socket>(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = local(proxy->port());
    EXPECT_EQ(::connect(out->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return out;
  }
  std::unique_ptr<Socket> accept() { return std::make_unique<Socket>(::accept(listener.get(), nullptr, nullptr)); }

  Socket listener{::socket(AF_INET, SOCK_STREAM, 0)};
  std::optional<FaultProxy> proxy;
};

TEST_F(FaultProxyTest, PassesBytesBothWaysAndEndsBothSides) {
  auto client = connect();
  const auto server = accept();
  client->send("question");
  EXPECT_EQ(server->receive(8), "question");
  server->send("answer");
  EXPECT_EQ(client->receive(6), "answer");
  EXPECT_EQ(proxy->round_trips(), 1);
  client.reset();
  EXPECT_TRUE(server->ended());
  EXPECT_EQ(proxy->passed(Direction::to_server), 8u);
  EXPECT_EQ(proxy->cuts(), 0);
}

TEST_F(FaultProxyTest, CutsAfterTheGivenNumberOfBytesOnce) {
  const auto client = connect();
  const auto server = accept();
  proxy->cut_after(Direction::to_server, 5);
  client->send("abc");
  EXPECT_EQ(server->receive(3), "abc");
  client->send("defgh");
  EXPECT_EQ(server->receive(9), "de");
  EXPECT_TRUE(client->ended());
  EXPECT_EQ(proxy->cuts(), 1);
  const auto next = connect();
  const auto again = accept();
  next->send("abcdefgh");
  EXPECT_EQ(again->receive(8), "abcdefgh");
}

TEST_F(FaultProxyTest, LosesTheAnswerToAMessageThatTheServerGets) {
  const auto client = connect();
  const auto server = accept();
  proxy->at_message("COMMIT", FaultProxy::Fault::lose_answer);
  client->send("one COM");
  EXPECT_EQ(server->receive(7), "one COM");
  client->send("MIT two");
  EXPECT_EQ(server->receive(7), "MIT two");
  server->send("done");
  EXPECT_TRUE(client->ended());
  EXPECT_TRUE(server->ended());
}

TEST_F(FaultProxyTest, SwallowsAMessageAndCuts) {
  const auto client = connect();
  const auto server = accept();
  proxy->at_message("COMMIT", FaultProxy::Fault::swallow);
  client->send("COMMIT");
  EXPECT_TRUE(server->ended());
  EXPECT_TRUE(client->ended());
}

TEST_F(FaultProxyTest, HoldsWhatFlowsUntilItIsReleased) {
  const auto client = connect();
  const auto server = accept();
  proxy->hold(Direction::to_client);
  server->send("late");
  proxy->wait_for_held(Direction::to_client);
  char byte;
  EXPECT_EQ(::recv(client->get(), &byte, 1, MSG_DONTWAIT), -1);
  proxy->release(Direction::to_client);
  EXPECT_EQ(client->receive(4), "late");
}

TEST_F(FaultProxyTest, RefusesConnectionsUntilTheyAreAllowed) {
  proxy->refuse(true);
  EXPECT_TRUE(connect()->ended());
  proxy->refuse(false);
  const auto client = connect();
  accept()->send("x");
  EXPECT_EQ(client->receive(1), "x");
  EXPECT_EQ(proxy->connections(), 2);
}

TEST_F(FaultProxyTest, CutsEverythingNow) {
  const auto client = connect();
  const auto server = accept();
  client->send("x");
  EXPECT_EQ(server->receive(1), "x");
  proxy->cut_all();
  EXPECT_TRUE(client->ended());
  EXPECT_TRUE(server->ended());
}

}  // namespace
}  // namespace skald::test
