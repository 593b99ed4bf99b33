#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agentflow/mcp.h"
#include "agentflow/mcp/event_stream.h"
#include "support/http_receiver.h"

namespace agentflow {
namespace {

using skald::test::HttpReceiver;
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kHello =
    R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"2"}}})";
const std::string kPage = R"({"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"look"}]}})";
const std::vector<std::string> kJson = {"Content-Type: application/json"},
                               kStream = {"Content-Type: text/event-stream"};

class McpOverHttp : public testing::Test {
 protected:
  McpGreeting greeted(skald::Duration timeout = 20s) { return greeted(server_.url(), timeout); }
  McpGreeting greeted(const std::string& url, skald::Duration timeout = 20s) {
    return greet(env_, {.name = "web", .command = "", .args = {}, .variables = {}, .url = url}, "", timeout);
  }
  std::string refusal(const std::string& url, skald::Duration timeout = 20s) {
    try {
      return "no refusal: " + skald::to_json(greeted(url, timeout));
    } catch (const skald::Refused& error) {
      EXPECT_EQ(error.code(), "MCP_FAILED");
      return error.what();
    }
  }
  std::string refusal(HttpReceiver::Behaviour behaviour, skald::Duration timeout = 20s) {
    server_.next(std::move(behaviour));
    return refusal(server_.url(), timeout);
  }

  HttpReceiver server_;
  std::unique_ptr<skald::Clock> clock_ = skald::system_clock();
  std::unique_ptr<skald::Random> random_ = skald::system_random();
  skald::Env env_{*clock_, *random_, skald::silent_observer()};
};

TEST_F(McpOverHttp, AServerThatAnswersWithJsonIsGreeted) {
  server_.next({.headers = {"Content-Type: application/json", "MCP-SESSION-ID:  abc-1 "}, .body = kHello});
  server_.next({.status = 202});
  server_.next({.headers = kJson, .body = kPage});
  EXPECT_EQ(skald::to_json(greeted()), R"({"name":"web","version":"2","protocol":"2025-06-18","tools":["look"]})");
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0].headers.at("accept"), "application/json, text/event-stream");
  EXPECT_EQ(requests[0].headers.at("content-type"), "application/json");
  EXPECT_FALSE(requests[0].headers.contains("mcp-session-id"));
  EXPECT_EQ(requests[2].headers.at("mcp-session-id"), "abc-1");
  EXPECT_EQ(requests[2].headers.at("mcp-protocol-version"), "2025-06-18");
  EXPECT_EQ(requests[3].method, "DELETE");
  EXPECT_EQ(requests[3].headers.at("mcp-session-id"), "abc-1");
}

TEST_F(McpOverHttp, AServerThatAnswersWithAStreamIsGreeted) {
  server_.next({.headers = kStream,
                .body = ": hello\nid: 7\ndata:\n\nevent: message\ndata: "
                        R"({"jsonrpc":"2.0","id":"p","method":"ping"})"
                        "\n\ndata: " +
                        kHello + "\n\n"});
  server_.next({.status = 202});
  server_.next({.status = 202});
  server_.next({.headers = kStream, .body = "data:" + kPage + "\r\n\r\n"});
  EXPECT_EQ(greeted().tools, std::vector<std::string>{"look"});
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 4U) << "without a session there is none to delete";
  EXPECT_EQ(requests[1].body, R"({"jsonrpc":"2.0","id":"p","result":{}})");
}

TEST_F(McpOverHttp, AStreamThatStaysOpenAfterTheAnswerIsLeft) {
  server_.next({.headers = kStream, .body = "data: " + kHello + "\n\n", .manner = HttpReceiver::Manner::endless});
  server_.next({.status = 202});
  server_.next({.headers = kJson, .body = kPage});
  EXPECT_EQ(greeted().tools, std::vector<std::string>{"look"});
}

TEST_F(McpOverHttp, OtherAnswersAreNamed) {
  EXPECT_THAT(refusal({.status = 401}), HasSubstr("the MCP server 'web' answered with HTTP 401: check its URL"));
  EXPECT_THAT(refusal({.status = 302, .headers = {"Location: http://127.0.0.1:1/"}}),
              HasSubstr("a redirect, which is not followed"));
  EXPECT_EQ(server_.requests().size(), 2U);
  EXPECT_THAT(refusal({.headers = kJson, .body = "<html>"}),
              HasSubstr("sent what is no message of JSON-RPC 2.0: '<html>'"));
  EXPECT_THAT(refusal({.headers = kJson}), HasSubstr("ended its answer before it had answered"));
  EXPECT_THAT(refusal({.headers = kStream, .body = "data: x"}), HasSubstr("ended its answer before"));
  EXPECT_THAT(refusal({.headers = {"Mcp-Session-Id: a b"}, .body = kHello}), HasSubstr("that no header can carry"));
  EXPECT_THAT(refusal({.manner = HttpReceiver::Manner::garbage}), HasSubstr("cannot be talked with"));
  EXPECT_THAT(refusal({.manner = HttpReceiver::Manner::close}), HasSubstr("cannot be talked with"));
}

TEST_F(McpOverHttp, AnAnswerWithoutEndIsCutOff) {
  EXPECT_THAT(refusal({.headers = kJson, .body = std::string(1000, ' '), .manner = HttpReceiver::Manner::endless}),
              HasSubstr("more than 4 MiB"));
  EXPECT_THAT(refusal({.headers = kStream, .body = ": still here\n", .manner = HttpReceiver::Manner::endless}),
              HasSubstr("more than 4 MiB"));
}

TEST_F(McpOverHttp, SilenceEndsWithTheTimeout) {
  EXPECT_THAT(refusal({.manner = HttpReceiver::Manner::hang}, 100ms), HasSubstr("has not answered in time"));
  EXPECT_THAT(refusal(server_.url(), 0ms), HasSubstr("has not answered in time"));
}

TEST_F(McpOverHttp, NobodyThereIsSaidSo) {
  EXPECT_THAT(refusal("http://127.0.0.1:1/mcp"), HasSubstr("cannot be talked with"));
}

TEST(McpEventStreams, EventsAreReadWhereverTheyAreCut) {
  const std::string text =
      "data: one\r\ndata: two\r\n\r\nevent: x\ndata:three\r\n\r\n: no\rdata\r\rdata: {}\r\rdata: rest";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    McpEventStream stream;
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size(); at += size)
      for (std::string& event : stream.feed(std::string_view(text).substr(at, size))) all.push_back(std::move(event));
    EXPECT_EQ(all, (std::vector<std::string>{"one\ntwo", "three", "{}"})) << size;
  }
}

}  // namespace
}  // namespace agentflow
