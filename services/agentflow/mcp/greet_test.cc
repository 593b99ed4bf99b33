// Servers that are scripts, good ones and bad ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agentflow/mcp.h"

namespace agentflow {
namespace {

using testing::EndsWith;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class McpGreet : public testing::Test {
 protected:
  McpGreet() {
    char name[] = "/tmp/mcp-greet-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~McpGreet() override { std::filesystem::remove_all(folder_); }

  // Each leaves the numbers of its processes in the folder that it works in.
  static McpAddress script(const std::string& text) {
    return {.name = "files",
            .command = "sh",
            .args = {"-c", "trap '' TERM; sleep 1000 >/dev/null 2>&1 & echo $$ $! > pids\n" + text},
            .variables = {},
            .url = {}};
  }
  McpGreeting greeted(const McpAddress& address, skald::Duration timeout = 20s) {
    return greet(env_, address, folder_, timeout);
  }
  McpGreeting greeted(const std::string& text) { return greeted(script(text)); }

  std::string refusal(const McpAddress& address, skald::Duration timeout = 20s) {
    const skald::Instant begin = clock_->steady();
    std::string out;
    try {
      out = "no refusal: " + skald::to_json(greeted(address, timeout));
    } catch (const skald::Refused& error) {
      EXPECT_EQ(error.code(), "MCP_FAILED");
      out = error.what();
    }
    EXPECT_LT(clock_->steady() - begin, timeout + 10s);
    EXPECT_THAT(out, testing::StartsWith("the MCP server 'files' "));
    EXPECT_EQ(alive(), "");
    return out;
  }
  std::string refusal(const std::string& text) { return refusal(script(text)); }

  std::string alive() const {
    std::string out;
    std::ifstream pids(folder_ + "/pids");
    for (std::string pid; pids >> pid;) {
      std::ifstream file("/proc/" + pid + "/stat");
      const std::string row((std::istreambuf_iterator<char>(file)), {});
      const std::size_t name_end = row.rfind(')');
      if (name_end != row.npos && row.substr(name_end + 2, 1) != "Z") out += row;
    }
    return out;
  }

  static std::string say(const std::string& line) { return "printf '%s\\n' '" + line + "'\n"; }
  static std::string hello(const std::string& result) {
    return "read -r request\n" + say(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
  }
  static std::string good_hello() {
    return hello(
               R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"9"}})") +
           "read -r initialized\n";
  }
  static std::string page(const std::string& id, const std::string& result) {
    return "read -r request\n" + say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + result + "}");
  }

  std::string folder_;
  std::unique_ptr<skald::Clock> clock_ = skald::system_clock();
  std::unique_ptr<skald::Random> random_ = skald::system_random();
  skald::Env env_{*clock_, *random_, skald::silent_observer()};
};

TEST_F(McpGreet, AServerSaysWhoItIsAndWhatItOffersAndIsEnded) {
  const McpGreeting greeting =
      greeted(good_hello() + page("2", R"({"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"next"})") +
              page("3", R"({"tools":[{"name":"c"}]})") + "printf '%s' \"$request\" > last; cat >/dev/null");
  EXPECT_EQ(skald::to_json(greeting), R"({"name":"fake","version":"9","protocol":"2025-06-18","tools":["a","b","c"]})");
  EXPECT_EQ(alive(), "");
  std::ifstream last(folder_ + "/last");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(last), {}),
            R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"next"}})");
}

TEST_F(McpGreet, TheHandshakeIsThatOfTheProtocol) {
  greeted(good_hello() + page("2", R"({"tools":[]})") + "printf '%s\\n' \"$initialized\" > last");
  std::ifstream last(folder_ + "/last");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(last), {}),
            R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
            "\n");
}

TEST_F(McpGreet, AServerWithoutToolsIsNotAskedForThem) {
  const McpGreeting greeting = greeted(
      hello(R"({"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"fake","version":"9"}})"));
  EXPECT_EQ(greeting.protocol, "2024-11-05");
  EXPECT_TRUE(greeting.tools.empty());
}

TEST_F(McpGreet, WhatAServerAsksOrTellsInBetweenIsSeenTo) {
  const McpGreeting greeting = greeted(
      say(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}})") +
      say(R"({"jsonrpc":"2.0","id":"p","method":"ping"})") + say(R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})") +
      good_hello().substr(0, good_hello().rfind("read")) + "read -r pong; read -r no; read -r initialized\n" +
      page("2", R"({"tools":[{"name":"a"}]})") + "printf '%s\\n' \"$pong\" \"$no\" > last");
  EXPECT_EQ(greeting.tools, std::vector<std::string>{"a"});
  std::ifstream last(folder_ + "/last");
  std::string pong, no;
  std::getline(last, pong);
  std::getline(last, no);
  EXPECT_EQ(pong, R"({"jsonrpc":"2.0","id":"p","result":{}})");
  EXPECT_THAT(no, HasSubstr("-32601"));
}

TEST_F(McpGreet, GarbageIsShownWithItsControlCharactersEscaped) {
  EXPECT_THAT(refusal("printf 'Starting\\033[2J server...\\n'; cat"),
              HasSubstr("sent what is no message of JSON-RPC 2.0: 'Starting\\u001b[2J server...'"));
  EXPECT_THAT(refusal("printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\\377\"}\\n'; cat"), HasSubstr("no message"));
  EXPECT_THAT(refusal(say("[1]") + "cat"), HasSubstr("no message"));
}

TEST_F(McpGreet, AnAnswerToAnotherRequestIsRefused) {
  EXPECT_THAT(refusal(say(R"({"jsonrpc":"2.0","id":"1","result":{}})") + "cat"),
              HasSubstr("answered a request '\"1\"' that it was not sent"));
}

TEST_F(McpGreet, AnErrorIsShown) {
  EXPECT_THAT(refusal(say(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no\nkey"}})") + "cat"),
              HasSubstr("answered initialize with an error: 'no key'"));
  EXPECT_THAT(refusal(say(R"({"jsonrpc":"2.0","id":null,"error":5})") + "cat"), HasSubstr("with an error"));
}

TEST_F(McpGreet, OneThatEndsSaysHowAndWhatItComplainedAbout) {
  EXPECT_THAT(refusal("echo 'no \tkey is set' >&2; exit 3"),
              EndsWith("ended before it had answered, with code 3: check its command, arguments and variables; it "
                       "complained: no  key is set"));
  EXPECT_THAT(refusal("kill -SEGV $$"), HasSubstr("by signal 11"));
  EXPECT_THAT(refusal(good_hello() + "exit 0"), HasSubstr("ended before it had answered"));
}

TEST_F(McpGreet, WhatWasSaidBeforeTheEndCounts) {
  EXPECT_THAT(refusal("exec <&-;" + say("no key is set") + "exit 3"), HasSubstr("'no key is set'"));
}

TEST_F(McpGreet, OnlyTheEndOfALongComplaintIsShown) {
  const std::string text = refusal("head -c 100000 /dev/zero | tr '\\0' x >&2; printf 'ä\\033the end' >&2; exit 1");
  EXPECT_THAT(text, EndsWith("xä\\u001bthe end"));
  EXPECT_LT(text.size(), 700U);
}

TEST_F(McpGreet, OneThatIsSilentIsEndedAtTheTimeout) {
  EXPECT_THAT(refusal(script("sleep 1000"), 100ms), HasSubstr("has not answered in time"));
  EXPECT_THAT(refusal(script("exec >&-; sleep 1000")), HasSubstr("ended before it had answered, or closed its output"));
}

TEST_F(McpGreet, OneThatTalksWithoutEndIsCutOff) {
  EXPECT_THAT(refusal("while :; do echo '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}'; done"),
              HasSubstr("sent 1000 messages, and no answer to initialize"));
  EXPECT_THAT(refusal("cat /dev/zero"), HasSubstr("more than 4 MiB"));
  EXPECT_THAT(refusal(script("cat /dev/zero >&2"), 300ms), HasSubstr("in time"))
      << "its complaints are read, and not kept";
}

TEST_F(McpGreet, ValuesOfAnotherTypeAreNamed) {
  const std::pair<const char*, const char*> hellos[] = {
      {"5", "a result that is no object"},
      {"{}", "without 'protocolVersion'"},
      {R"({"protocolVersion":5})", "'protocolVersion' that is no text"},
      {R"({"protocolVersion":"1999-01-01"})", "speaks protocol '1999-01-01'"},
      {R"({"protocolVersion":"2025-06-18","serverInfo":[]})", "'serverInfo' that is no object"},
      {R"({"protocolVersion":"2025-06-18","serverInfo":{"name":"a"}})", "without 'version'"},
      {R"({"protocolVersion":"2025-06-18","serverInfo":{"name":"a","version":"1"}})", "without 'capabilities'"}};
  for (const auto& [result, wanted] : hellos) EXPECT_THAT(refusal(hello(result) + "cat"), HasSubstr(wanted));
  const std::pair<const char*, const char*> pages[] = {
      {"{}", "without 'tools'"},
      {R"({"tools":{}})", "'tools' that are no array"},
      {R"({"tools":[5]})", "a tool that is no object"},
      {R"({"tools":[{"name":5}]})", "'name' that is no text"},
      {R"({"tools":[{"name":""}]})", "a tool called ''"},
      {R"({"tools":[{"name":"a\u0007"}]})", "a tool called 'a\\u0007'"},
      {R"({"tools":[],"nextCursor":5})", "'nextCursor'"}};
  for (const auto& [result, wanted] : pages)
    EXPECT_THAT(refusal(good_hello() + page("2", result) + "cat"), HasSubstr(wanted));
}

TEST_F(McpGreet, PagesAndToolsWithoutEndAreCutOff) {
  EXPECT_THAT(
      refusal(good_hello() +
              "i=2; while read -r request; do echo "
              "'{\"jsonrpc\":\"2.0\",\"id\":'$i',\"result\":{\"tools\":[],\"nextCursor\":\"x\"}}'; i=$((i+1)); done"),
      HasSubstr("more than 20 pages"));
  EXPECT_THAT(
      refusal(good_hello() +
              "printf '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"a\"}'; i=0; while [ $i -lt "
              "2000 ]; do printf ',{\"name\":\"b\"}'; i=$((i+1)); done; echo ']}}'; cat"),
      HasSubstr("more than 2000 tools"));
}

TEST_F(McpGreet, WhatCannotBeStartedSaysWhy) {
  McpAddress address = script("");
  address.command = "no-such-program";
  EXPECT_THAT(refusal(address),
              HasSubstr("could not be started: cannot run 'no-such-program': No such file or directory"));
}

TEST_F(McpGreet, ItGetsItsVariablesAndNoOthersOfOursButThePathAndItsLike) {
  setenv("SKALD_TEST_SECRET", "s3cret", 1);
  McpAddress address = script("env | sort > last; exit 1");
  address.variables = {{"KEY", "${env:SKALD_TEST_SECRET}"}, {"HOME", "/nowhere"}};
  refusal(address);
  unsetenv("SKALD_TEST_SECRET");
  std::ifstream file(folder_ + "/last");
  const std::string last(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(last, HasSubstr("KEY=s3cret\n"));
  EXPECT_THAT(last, HasSubstr("HOME=/nowhere\n"));
  EXPECT_THAT(last, HasSubstr("PATH="));
  EXPECT_THAT(last, Not(HasSubstr("SKALD_TEST_SECRET")));
}

TEST_F(McpGreet, ASecretThatAServerRepeatsIsNotShown) {
  setenv("SKALD_TEST_SECRET", "s3cret", 1);
  McpAddress address = script("echo \"bad key $KEY, twice $KEY\" >&2; echo \"key $KEY\"; cat");
  address.variables = {{"KEY", "${env:SKALD_TEST_SECRET}"}, {"PLAIN", "key"}};
  const std::string text = refusal(address);
  unsetenv("SKALD_TEST_SECRET");
  EXPECT_THAT(text, HasSubstr("'key ***'"));
  EXPECT_THAT(text, EndsWith("bad key ***, twice ***"));
}

TEST_F(McpGreet, ASecretThatIsNotThereStartsNothing) {
  McpAddress address = script("");
  address.variables = {{"KEY", "${env:SKALD_TEST_NONE}"}};
  try {
    greeted(address);
    FAIL();
  } catch (const skald::Refused& error) {
    EXPECT_EQ(error.code(), "NO_SECRET");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/pids"));
}

}  // namespace
}  // namespace agentflow
