#include <gtest/gtest.h>

#include <sstream>

#include "agentflow/mcp.h"
#include "agentflow/mcp/rpc.h"

namespace agentflow {
namespace {

// The agent's side: lines in, lines out.
class ServedMcp : public testing::Test {
 protected:
  std::vector<std::string> serve(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return serve_text(text);
  }
  std::vector<std::string> serve_text(const std::string& text) {
    std::istringstream in(text);
    std::ostringstream out;
    serve_mcp(in, out, tools_, "1.2.3");
    std::vector<std::string> answers;
    std::istringstream written(out.str());
    for (std::string line; std::getline(written, line);) answers.push_back(line);
    return answers;
  }
  // The answer to one line after the handshake.
  std::string after_handshake(const std::string& line, const std::string& protocol = "2025-06-18") {
    const auto answers = serve({hello(protocol), kInitialized, line});
    return answers.size() == 2 ? answers[1] : std::to_string(answers.size()) + " answers";
  }
  static std::string hello(const std::string& protocol) {
    return R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + protocol +
           R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
  }
  static std::string call(const std::string& params) {
    return R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":)" + params + "}";
  }
  static std::int64_t code_of(const std::string& answer) {
    const auto value = skald::json::parse(answer);
    const auto* error = value.as_object().if_contains("error");
    return error != nullptr ? error->at("code").as_int64() : 0;
  }

  static constexpr const char* kInitialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
  std::vector<std::string> heard_;
  McpTools tools_{.report = [this](const std::string& text) { heard_.push_back("report " + text); },
                  .ask = [](const std::string& question) { return "yes to " + question; },
                  .complete = [this](const std::string& summary) { heard_.push_back("complete " + summary); },
                  .read = [] { return skald::RawJson{"{\n  \"workflow\": \"w\"\n}"}; },
                  .answer = [this](const std::string& query,
                                   const std::string& text) { heard_.push_back("answer " + query + " " + text); }};
};

TEST_F(ServedMcp, AKnownProtocolIsTakenAndAnUnknownOneGetsOurLatest) {
  for (const std::string_view known : kMcpProtocols)
    EXPECT_EQ(serve({hello(std::string(known))}).at(0),
              R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":")" + std::string(known) +
                  R"(","capabilities":{"tools":{}},"serverInfo":{"name":"skald","version":"1.2.3"}}})");
  EXPECT_NE(serve({hello("1999-01-01")}).at(0).find(R"("protocolVersion":"2025-11-25")"), std::string::npos);
}

TEST_F(ServedMcp, NothingButPingIsAnsweredBeforeTheHandshake) {
  const auto answers = serve({R"({"jsonrpc":"2.0","id":1,"method":"ping"})",
                              R"({"jsonrpc":"2.0","id":"two","method":"tools/list"})", call(R"({"name":"read"})")});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0], R"({"jsonrpc":"2.0","id":1,"result":{}})");
  EXPECT_EQ(code_of(answers[1]), -32600);
  EXPECT_NE(answers[1].find(R"("id":"two")"), std::string::npos);
  EXPECT_EQ(code_of(answers[2]), -32600);
  EXPECT_TRUE(heard_.empty());
}

TEST_F(ServedMcp, ASecondHandshakeIsRefused) { EXPECT_EQ(code_of(after_handshake(hello("2025-06-18"))), -32600); }

TEST_F(ServedMcp, AHandshakeWithoutAVersionIsRefusedAndCanBeTriedAgain) {
  const auto answers =
      serve({R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}})", hello("2025-06-18")});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(code_of(answers[0]), -32602);
  EXPECT_EQ(code_of(answers[1]), 0);
}

TEST_F(ServedMcp, FiveToolsAreListedWithTheirSchemas) {
  const auto value = skald::json::parse(after_handshake(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"));
  const auto& tools = value.at("result").at("tools").as_array();
  std::string all;
  for (const auto& tool : tools) {
    all += std::string(tool.at("name").as_string()) + "(";
    EXPECT_EQ(tool.at("inputSchema").at("type").as_string(), "object");
    for (const auto& argument : tool.at("inputSchema").at("properties").as_object())
      all += (all.ends_with("(") ? "" : ",") + std::string(argument.key());
    all += ") ";
  }
  EXPECT_EQ(all, "report(text) ask(question) complete(summary) read() answer(query,text) ");
}

TEST_F(ServedMcp, EveryToolReachesItsFunction) {
  EXPECT_EQ(code_of(after_handshake(call(R"({"name":"report","arguments":{"text":"done \u00e4"}})"))), 0);
  EXPECT_EQ(code_of(after_handshake(call(R"({"name":"complete","arguments":{"summary":"all"}})"))), 0);
  EXPECT_EQ(code_of(after_handshake(call(R"({"name":"answer","arguments":{"text":"yes","query":"w.q1"}})"))), 0);
  EXPECT_EQ(heard_, (std::vector<std::string>{"report done ä", "complete all", "answer w.q1 yes"}));
  EXPECT_EQ(after_handshake(call(R"({"name":"ask","arguments":{"question":"sure?"}})")),
            R"({"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"yes to sure?"}],"isError":false}})");
  EXPECT_NE(after_handshake(call(R"({"name":"read"})")).find(R"({\n  \"workflow\": \"w\"\n})"), std::string::npos);
}

TEST_F(ServedMcp, AToolsErrorIsToldToTheAgentAndTheNextRequestIsAnswered) {
  tools_.report = [](const std::string&) { throw skald::Refused("TASK_OVER", "the task is over: stop"); };
  tools_.ask = [](const std::string&) -> std::string { throw std::runtime_error("broken"); };
  const auto answers = serve({hello("2025-06-18"), call(R"({"name":"report","arguments":{"text":"x"}})"),
                              call(R"({"name":"ask","arguments":{"question":"x"}})"), call(R"({"name":"read"})")});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(
      answers[1],
      R"({"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"the task is over: stop"}],"isError":true}})");
  EXPECT_EQ(code_of(answers[2]), -32603);
  EXPECT_EQ(code_of(answers[3]), 0);
}

TEST_F(ServedMcp, ParametersThatDoNotFitAreRefused) {
  for (const char* params :
       {"{}", "[]", "7", R"({"name":5})", R"({"name":"erase"})", R"({"name":"report"})",
        R"({"name":"report","arguments":[]})", R"({"name":"report","arguments":{"text":5}})",
        R"({"name":"report","arguments":{"text":"a","more":1}})", R"({"name":"answer","arguments":{"text":"a"}})",
        R"({"name":"report","arguments":{"text":"a\u0000b"}})", R"({"name":"read","arguments":{"text":"a"}})"})
    EXPECT_EQ(code_of(after_handshake(call(params))), -32602) << params;
  EXPECT_TRUE(heard_.empty());
}

TEST_F(ServedMcp, AnUnknownMethodIsNotFoundAlsoBeforeTheHandshake) {
  EXPECT_EQ(code_of(after_handshake(R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})")), -32601);
  EXPECT_EQ(code_of(serve({R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})"}).at(0)), -32601);
}

TEST_F(ServedMcp, WhatIsNoJsonIsAParseError) {
  for (const std::string line : {"hello", "{", "{}{}", "{\"a\":1,\"a\":2}", "\"\xff\"", "\x01"})
    EXPECT_EQ(code_of(after_handshake(line)), -32700) << line;
  EXPECT_EQ(code_of(after_handshake(std::string(1000, '['))), -32700);
}

TEST_F(ServedMcp, WhatIsNoMessageIsAnInvalidRequest) {
  for (const char* line :
       {"5", "null", "{}", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":null,"method":"ping"})", R"({"jsonrpc":"2.0","id":{},"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", R"({"jsonrpc":"2.0","id":1,"method":5})",
        R"({"jsonrpc":"2.0","id":1})"})
    EXPECT_EQ(code_of(after_handshake(line)), -32600) << line;
}

TEST_F(ServedMcp, NotificationsAndAnswersGetNoAnswer) {
  const auto answers = serve({hello("2025-06-18"), kInitialized, "", "  \r",
                              R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
                              R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"complete"}})",
                              R"({"jsonrpc":"2.0","id":3,"result":{}})",
                              R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}})"});
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_TRUE(heard_.empty());
}

TEST_F(ServedMcp, ABatchIsAnsweredInTheProtocolThatHasThem) {
  const std::string batch =
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},5,{"jsonrpc":"2.0","id":2,"method":"y"}])";
  const auto answers = skald::json::parse(after_handshake(batch, "2025-03-26")).as_array();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].at("id").as_int64(), 1);
  EXPECT_EQ(answers[1].at("error").at("code").as_int64(), -32600);
  EXPECT_EQ(answers[2].at("error").at("code").as_int64(), -32601);
  EXPECT_EQ(code_of(after_handshake("[]", "2025-03-26")), -32600);
  EXPECT_EQ(after_handshake(R"([{"jsonrpc":"2.0","method":"x"}])", "2025-03-26"), "1 answers");
  EXPECT_EQ(code_of(after_handshake(batch)), -32600);
}

TEST_F(ServedMcp, ALineOfAMebibyteIsTakenAndALongerOneIsPassedOver) {
  const std::string empty = call(R"({"name":"report","arguments":{"text":""}})");
  const auto sized = [&](std::size_t bytes) {
    return call(R"({"name":"report","arguments":{"text":")" + std::string(bytes - empty.size(), 'x') + "\"}}");
  };
  EXPECT_EQ(code_of(after_handshake(sized(1 << 20))), 0);
  EXPECT_EQ(heard_.size(), 1U);
  const auto answers =
      serve({hello("2025-06-18"), sized((1 << 20) + 1), std::string(5 << 20, 'x'), call(R"({"name":"read"})")});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(code_of(answers[1]), -32600);
  EXPECT_EQ(code_of(answers[2]), -32600);
  EXPECT_EQ(code_of(answers[3]), 0);
  EXPECT_EQ(heard_.size(), 1U);
}

TEST_F(ServedMcp, TheLastLineNeedsNoEnd) {
  EXPECT_EQ(serve_text(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").size(), 1U);
}

TEST_F(ServedMcp, WhatToolsReturnIsAlwaysOneLineOfUtf8) {
  tools_.ask = [](const std::string&) { return "a\n\xff\r\u2028"; };
  const std::string answer = after_handshake(call(R"({"name":"ask","arguments":{"question":"x"}})"));
  EXPECT_EQ(skald::json::parse(answer).at("result").at("content").at(0).at("text").as_string(), "a\n?\r\u2028");
}

TEST_F(ServedMcp, ItEndsWhenNobodyReadsItsAnswers) {
  std::istringstream in(hello("2025-06-18") + "\n" + call(R"({"name":"complete","arguments":{"summary":"x"}})") + "\n");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  serve_mcp(in, out, tools_, "1");
  EXPECT_TRUE(heard_.empty());
}

}  // namespace
}  // namespace agentflow
