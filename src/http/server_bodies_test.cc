// Room for bodies: who takes it, and by what.
#include "http/server_fixture.h"

namespace skald::http {
namespace {

// Heads that announce a large body, with no byte of it behind them.
std::string announcement(std::size_t bytes) {
  return "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

std::vector<std::unique_ptr<RawClient>> announce(int count, std::uint16_t port) {
  std::vector<std::unique_ptr<RawClient>> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(std::make_unique<RawClient>(port));
    out.back()->send(announcement(1024 * 1024));
  }
  return out;
}

TEST_F(GuardedServerTest, SocketsWithoutATokenThatAnnounceBodiesStopNobodysWrites) {
  start();
  const auto silent = announce(256, server_->port());
  EXPECT_EQ(status(ask(post("{}", bearer("kim")))), 201);
  for (const auto& client : silent) EXPECT_EQ(status(client->read_response()), 401);
}

TEST_F(GuardedServerTest, WhatTheHeadShowsToBeWrongIsSaidBeforeTheBodyComes) {
  start();
  RawClient lost = connect();
  lost.send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status(lost.read_response()), 404);
  RawClient mistaken = connect();
  mistaken.send("PUT /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(status(mistaken.read_response()), 405);
}

TEST_F(ServerTest, AnnouncedBytesTakeNoRoom) {
  start();
  const auto silent = announce(256, server_->port());
  EXPECT_EQ(status(ask(post("{}"))), 201);
}

// A request whose handler is kept waiting: its body has come, and is held until it is answered.
struct HeldRequest {
  std::promise<void> entered, released;

  HeldRequest(Routes& routes, std::string path) {
    routes.act(std::move(path), Access::customer, {}, [this](const Request&) {
      entered.set_value();
      released.get_future().wait();
      return Response::text("done");
    });
  }
};

std::string posted(const std::string& path, std::size_t bytes, const std::string& more = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(bytes) + "\r\n" + more +
         "\r\n" + std::string(bytes, ' ');
}

TEST_F(ServerTest, BytesThatHaveComeAreBoundedInAllAndForEachAddress) {
  options.body_bytes_max = 1'000;
  options.bodies_bytes_max = 1'600;
  options.peer_share = 0.625;
  HeldRequest first(routes_, "/first"), second(routes_, "/second");
  start();
  const auto answer_to = [&](std::string_view address) {
    RawClient client = connect_from(address);
    client.send(posted("/echo", 200));
    return client.read_response();
  };
  RawClient one = connect_from("127.0.0.2");
  one.send(posted("/first", 900));
  first.entered.get_future().wait();
  const std::string own = answer_to("127.0.0.2");
  EXPECT_EQ(status(own), 429);
  EXPECT_TRUE(has(own, "TOO_MUCH_AT_ONCE"));
  EXPECT_TRUE(has(own, "retry-after: 1\r\n"));
  EXPECT_EQ(status(answer_to("127.0.0.1")), 201) << "another address has its own share";

  RawClient other = connect_from("127.0.0.3");
  other.send(posted("/second", 600));
  second.entered.get_future().wait();
  const std::string full = answer_to("127.0.0.1");
  EXPECT_EQ(status(full), 503);
  EXPECT_TRUE(has(full, "OVERLOADED"));
  first.released.set_value();
  second.released.set_value();
  EXPECT_EQ(status(one.read_response()), 200);
  EXPECT_EQ(status(other.read_response()), 200);
  for (const char* address : {"127.0.0.1", "127.0.0.2", "127.0.0.3"}) EXPECT_EQ(status(answer_to(address)), 201);
}

TEST_F(GuardedServerTest, OneCallersBodiesAreBoundedWhereverTheyComeFrom) {
  options.subject_bodies_bytes_max = 1'000;
  HeldRequest held(routes_, "/held");
  start();
  RawClient first = connect_from("127.0.0.2");
  first.send(posted("/held", 900, bearer("kim")));
  held.entered.get_future().wait();
  EXPECT_EQ(status(ask(posted("/echo", 200, bearer("kim")))), 429);
  EXPECT_EQ(status(ask(posted("/echo", 200, bearer("lee")))), 201);
  held.released.set_value();
  EXPECT_EQ(status(first.read_response()), 200);
  EXPECT_EQ(status(ask(posted("/echo", 200, bearer("kim")))), 201);
}

TEST_F(ServerTest, OneAddressDoesNotGetAllConnections) {
  options.connections_max = 4;
  start();
  std::vector<std::unique_ptr<RawClient>> held;
  for (int i = 0; i < 2; ++i) {
    held.push_back(std::make_unique<RawClient>(server_->port(), 20, "127.0.0.2"));
    held.back()->send(get("/hello/x"));
    held.back()->read_response();
  }
  EXPECT_EQ(status(connect_from("127.0.0.2").read_to_end()), 503);
  expect_alive();
}

}  // namespace
}  // namespace skald::http
