#include "http/server_fixture.h"

namespace skald::http {
namespace {

TEST_F(ServerTest, RequestsAreAnsweredOneAfterTheOtherOnOneConnection) {
  start();
  RawClient client = connect();
  for (const char* name : {"a", "b", "c"}) {
    client.send(get("/hello/" + std::string(name)));
    EXPECT_TRUE(has(client.read_response(), "hello " + std::string(name)));
  }
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  start();
  RawClient client = connect();
  client.send(get("/hello/1") + post("{\"n\":2}") + get("/hello/3"));
  EXPECT_TRUE(client.read_response().ends_with("hello 1"));
  EXPECT_TRUE(client.read_response().ends_with("{\"n\":2}"));
  EXPECT_TRUE(client.read_response().ends_with("hello 3"));
}

TEST_F(ServerTest, AnswersCarryTypeTraceAndRequestId) {
  start();
  const std::string response = ask(get("/hello/x"));
  EXPECT_EQ(status(response), 200);
  EXPECT_TRUE(has(response, "Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_TRUE(has(response, "traceparent: 00-"));
  EXPECT_TRUE(has(response, "x-request-id: "));
  EXPECT_TRUE(has(response, "x-content-type-options: nosniff\r\n"));
}

TEST_F(ServerTest, EveryAnswerSaysWhenItWasMade) {
  start();
  EXPECT_TRUE(has(ask(get("/hello/x")), "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\n"));
  fake_.clock.micros += 61'500'000;
  EXPECT_TRUE(has(ask("nonsense\r\n\r\n"), "Date: Fri, 15 Jan 2027 08:01:01 GMT\r\n"));
  RawClient stream = connect();
  stream.send(get("/events"));
  EXPECT_TRUE(has(stream.read_until("\r\n\r\n"), "date: Fri, 15 Jan 2027 08:01:01 GMT\r\n"));
}

TEST_F(ServerTest, HeadIsGetWithoutTheBody) {
  start();
  RawClient client = connect();
  client.send("HEAD /hello/you HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/hello/2"));
  EXPECT_TRUE(has(client.read_response(false), "Content-Length: 9\r\n"));
  EXPECT_TRUE(client.read_response().ends_with("hello 2"));
}

TEST_F(ServerTest, TheServerClosesWhenAskedAndForHttp10) {
  start();
  RawClient client = connect();
  client.send(get("/hello/x", "Connection: close\r\n"));
  EXPECT_TRUE(client.read_to_end().ends_with("hello x"));
  RawClient old = connect();
  old.send("GET /hello/old HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(old.read_to_end().ends_with("hello old"));
}

TEST_F(ServerTest, WhatIsNotHttpIs400) {
  start();
  for (const char* bad :
       {"nonsense\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02\r\n\r\n", "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"}) {
    const std::string response = ask(bad);
    EXPECT_EQ(status(response), 400) << bad << response;
    EXPECT_TRUE(has(response, "application/problem+json")) << bad;
    EXPECT_TRUE(has(response, "x-request-id: ")) << bad;
  }
  expect_alive();
}

TEST_F(ServerTest, ATruncatedRequestHasNoEffectAndTheServerGoesOn) {
  start();
  for (const std::string& whole : {get("/hello/x"), post("{\"a\":1}")})
    for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
      RawClient client = connect();
      client.send(std::string_view(whole).substr(0, cut));
      client.end_sending();
      const std::string response = client.read_to_end();
      EXPECT_TRUE(response.empty() || status(response) == 400) << response;
    }
  expect_alive();
}

TEST_F(ServerTest, HugeHeadersAre431) {
  start();
  EXPECT_EQ(status(ask(get("/hello/x", "X: " + std::string(100'000, 'a') + "\r\n"))), 431);
  std::string many;
  for (int i = 0; i < 5'000; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(status(ask(get("/hello/x", many))), 431);
  EXPECT_EQ(status(ask("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n")), 431);
  EXPECT_EQ(status(ask(get("/" + std::string(9'000, 'a')))), 400);
  expect_alive();
}

TEST_F(ServerTest, ABodyIsRefusedByItsLengthBeforeAnythingIsRead) {
  start();
  for (const char* length : {"1073741824", "1048577", "18446744073709551615"}) {
    RawClient client = connect();
    client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::string(length) + "\r\n\r\n");
    EXPECT_EQ(status(client.read_response()), 413) << length;
  }
  RawClient polite = connect();
  polite.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1073741824\r\n\r\n");
  EXPECT_EQ(status(polite.read_response()), 413);
}

TEST_F(ServerTest, AnEndlessChunkedBodyIsCutAtTheLimit) {
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(65'536, ' ') + "\r\n";
  // The server reads on for a while after its refusal, far less than this.
  for (int i = 0; i < 16 * 1024 && client.send(chunk); ++i) {}
  RawClient other = connect();
  other.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 17; ++i) other.send(chunk);
  EXPECT_EQ(status(other.read_response()), 413);
  expect_alive();
}

TEST_F(ServerTest, ChunkedBodiesWithinTheLimitAreTakenAndTrailersDoNotCount) {
  start();
  const std::string response =
      ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\nContent-Type: text/plain\r\n\r\n");
  EXPECT_EQ(status(response), 201) << response;
  EXPECT_TRUE(response.ends_with("{\"a\":1}"));
}

TEST_F(ServerTest, AnEndlessChunkExtensionIsRefused) {
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;x=" +
              std::string(100'000, 'a'));
  EXPECT_GE(status(client.read_response()), 400);
  expect_alive();
}

TEST_F(ServerTest, AClientThatExpectsContinueIsToldSo) {
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_response(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("{}");
  EXPECT_EQ(status(client.read_response()), 201);
}

TEST_F(ServerTest, BadUtf8AndOtherTypesAreRefused) {
  start();
  const std::string malformed = ask(post("{\"a\":\"\xff\"}"));
  EXPECT_EQ(status(malformed), 400);
  EXPECT_TRUE(has(malformed, "MALFORMED_UTF8"));
  EXPECT_EQ(status(ask(post("a=b", "Content-Type: application/x-www-form-urlencoded\r\n"))), 415);
  EXPECT_EQ(status(ask(post("{}", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"))), 415);
}

TEST_F(ServerTest, AWrongHostOrOriginIsRefused) {
  start();
  EXPECT_EQ(status(ask("GET /hello/x HTTP/1.1\r\nHost: evil.example\r\n\r\n")), 421);
  EXPECT_EQ(status(ask("GET /hello/x HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")), 400);
  EXPECT_EQ(status(ask(post("{}", "Origin: http://evil.example\r\n"))), 403);
  const std::string port = std::to_string(server_->port());
  EXPECT_EQ(status(ask("GET /hello/x HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nOrigin: http://127.0.0.1:" + port +
                       "\r\n\r\n")),
            200);
}

TEST_F(ServerTest, ASlowHeaderIsTimedOut) {
  options.header_timeout = 50ms;
  start();
  RawClient client = connect();
  client.send("GET /hello/x HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(status(client.read_to_end()), 408);
  RawClient silent = connect();
  EXPECT_EQ(silent.read_to_end(), "");
}

TEST_F(ServerTest, ASlowBodyIsTimedOut) {
  options.body_timeout = 50ms;
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_EQ(status(client.read_to_end()), 408);
}

TEST_F(ServerTest, AnIdleConnectionIsClosed) {
  options.idle_timeout = 50ms;
  start();
  RawClient client = connect();
  client.send(get("/hello/x"));
  client.read_response();
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(ServerTest, AClientThatDoesNotTakeItsAnswerIsCut) {
  options.body_timeout = 50ms;
  routes_.get("/large", Access::customer, {},
              [](const Request&) { return Response::text(std::string(64 << 20, 'a')); });
  start();
  RawClient client = connect();
  client.send(get("/large"));
  expect_alive();
  server_->stop(10s);  // returns only once the connection is gone
  EXPECT_LT(client.read_to_end().size(), std::size_t{64 << 20});
}

TEST_F(ServerTest, WhenTooManyRequestsWaitFurtherOnesAreSentAway) {
  options.waiting_max = 0;
  start();
  RawClient client = connect();
  client.send(get("/hello/x") + get("/hello/y"));
  const std::string response = client.read_response();
  EXPECT_EQ(status(response), 503);
  EXPECT_TRUE(has(response, "retry-after: 1\r\n"));
  EXPECT_EQ(status(client.read_response()), 503);  // the connection is still good
}

TEST_F(ServerTest, ConnectionsBeyondTheLimitAreSentAwayAndPlacesComeBack) {
  options.connections_max = 1;
  start();
  {
    RawClient first = connect();
    first.send(get("/hello/x"));
    first.read_response();
    const std::string refused = connect().read_to_end();
    EXPECT_EQ(status(refused), 503);
    EXPECT_TRUE(has(refused, "date: Fri, 15 Jan 2027 08:00:00 GMT\r\n"));
    first.send(get("/hello/x", "Connection: close\r\n"));
    first.read_to_end();
  }
  // The place is free once the server has seen the first one go.
  int tries = 0;
  while (status(ask(get("/hello/x"))) != 200 && ++tries < 10'000) {}
  EXPECT_LT(tries, 10'000);
}

TEST_F(ServerTest, ManyConnectionsAtOnceAreAllServed) {
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(std::make_unique<RawClient>(server_->port()));
  for (std::size_t i = 0; i < clients.size(); ++i) clients[i]->send(get("/hello/" + std::to_string(i)));
  for (std::size_t i = 0; i < clients.size(); ++i)
    EXPECT_TRUE(clients[i]->read_response().ends_with("hello " + std::to_string(i)));
}

}  // namespace
}  // namespace skald::http
