// Where a request ends: what could be read in two ways is read in none.
#include "http/server_fixture.h"

namespace skald::http {
namespace {

class ServerFramingTest : public ServerTest {
 protected:
  // Everything that comes back for a head, with another request right behind it.
  std::string ask_with_stowaway(const std::string& head) {
    RawClient client = connect();
    client.send(head + "\r\n" + get("/hello/stowaway"));
    return client.read_to_end();
  }
  void expect_refused_alone(const std::string& head) {
    const std::string answers = ask_with_stowaway(head);
    EXPECT_EQ(status(answers), 400) << head << answers;
    EXPECT_TRUE(has(answers, "MALFORMED_REQUEST")) << head << answers;
    EXPECT_FALSE(has(answers, "hello stowaway")) << head << answers;
    EXPECT_EQ(answers.find("Content-Length: "), answers.rfind("Content-Length: ")) << head << answers;
  }
  static constexpr std::string_view kPost = "POST /echo HTTP/1.1\r\nHost: localhost\r\n";
};

TEST_F(ServerFramingTest, ATransferEncodingOtherThanChunkedIs400AndEndsTheConnection) {
  start();
  for (const char* coding :
       {"identity", "xchunked", "chunkedx", "gzip", "chunked, identity", "gzip, chunked", "chunked, chunked",
        "identity, chunked", "\"chunked\"", "chunked;q=1", "chunked,", ",chunked", "'chunked'", "chun ked", ",", ""})
    expect_refused_alone(std::string(kPost) + "Transfer-Encoding: " + coding + "\r\n");
  expect_refused_alone(std::string(kPost) + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n");
  expect_refused_alone(std::string(kPost) + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n");
  expect_refused_alone("GET /hello/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n");
  expect_alive();
}

TEST_F(ServerFramingTest, ATransferEncodingBesideALengthIs400InEitherOrder) {
  start();
  for (const std::string coding : {"chunked", "identity", "gzip", "xchunked"}) {
    expect_refused_alone(std::string(kPost) + "Transfer-Encoding: " + coding + "\r\nContent-Length: 0\r\n");
    expect_refused_alone(std::string(kPost) + "Content-Length: 0\r\nTransfer-Encoding: " + coding + "\r\n");
  }
  expect_alive();
}

TEST_F(ServerFramingTest, Http10KnowsNoTransferEncoding) {
  start();
  for (const std::string coding : {"chunked", "identity"})
    expect_refused_alone(
        "POST /echo HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: " + coding + "\r\n");
  expect_alive();
}

TEST_F(ServerFramingTest, ALengthIsGivenOnceAndInDigits) {
  start();
  for (const char* length : {"0, 0", "+0", "-0", "0x0", "0;", "", " ", "0 0"})
    expect_refused_alone(std::string(kPost) + "Content-Length: " + length + "\r\n");
  expect_refused_alone(std::string(kPost) + "Content-Length: 0\r\nContent-Length: 0\r\n");
  expect_alive();
}

TEST_F(ServerFramingTest, ChunkedIsTakenInEverySpelling) {
  start();
  for (const char* coding : {"chunked", "Chunked", " chunked\t"})
    EXPECT_EQ(status(ask(std::string(kPost) + "Transfer-Encoding:" + coding + "\r\n\r\n2\r\n{}\r\n0\r\n\r\n")), 201);
}

}  // namespace
}  // namespace skald::http
