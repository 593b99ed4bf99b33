#include "cli/command.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "cli/data_folder.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "cli/system_limits.h"
#include "http/jwt.h"
#include "skald/analyser.h"
#include "skald/checker.h"
#include "skald/controls.h"
#include "support/test_database.h"

namespace skald::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct StillClock final : Clock {
  Time now() const override { return from_micros(1'800'000'000'000'000); }
  Instant steady() const override { return {}; }
};

class CommandTest : public testing::Test {
 protected:
  Arguments parse(std::vector<std::string> words) {
    Arguments out = parse_arguments(words);
    return out;
  }
  Settings settings(Values more = {}) {
    more.emplace("data", folder_.path().string());
    return Settings({}, {}, more);
  }

  test::TemporaryFolder folder_;
  StillClock clock_;
  std::unique_ptr<Random> random_ = system_random();
  Env env_{clock_, *random_, silent_observer()};
  std::ostringstream out_;
};

TEST_F(CommandTest, ATokenIsVerifiedByTheSecretOfItsInstallation) {
  EXPECT_EQ(run_token(parse({"token", "--role", "admin", "--subject", "kim", "--ttl", "1h"}), settings(), env_, out_),
            kDone);
  std::string token = out_.str();
  token.pop_back();
  const std::string secret = DataFolder(folder_.path()).existing_secret("secret").value();
  const http::Claims claims = http::verify_token(secret, token, clock_.now() + 59min);
  EXPECT_EQ(claims.subject, "kim");
  EXPECT_EQ(claims.role, Role::admin);
  EXPECT_THROW(http::verify_token(secret, token, clock_.now() + 61min), Unauthorized);
}

TEST_F(CommandTest, AConfiguredSecretIsUsedAndNoneIsMade) {
  const Settings configured({}, {{"auth.secret", "a long and random secret"}}, {{"data", folder_.path().string()}});
  run_token(parse({"token", "--role", "customer", "--subject", "kim", "--json"}), configured, env_, out_);
  const JsonView view(out_.str());
  EXPECT_EQ(http::verify_token("a long and random secret", view["token"], clock_.now()).role, Role::customer);
  EXPECT_EQ(view["expiresAt"], "2027-01-16T08:00:00Z");
  EXPECT_FALSE(DataFolder(folder_.path()).existing_secret("secret"));
}

TEST_F(CommandTest, ATokenWithoutARoleOrSubjectIsAUsageError) {
  EXPECT_THROW(run_token(parse({"token", "--role", "admin"}), settings(), env_, out_), Invalid);
  EXPECT_THROW(run_token(parse({"token", "--role", "king", "--subject", "kim"}), settings(), env_, out_), Invalid);
  EXPECT_THROW(
      run_token(parse({"token", "--role", "admin", "--subject", "kim", "--ttl", "soon"}), settings(), env_, out_),
      Invalid);
}

TEST_F(CommandTest, ASecretFileIsReadableByItsOwnerAloneAndStays) {
  const DataFolder folder(folder_.path());
  const std::string secret = folder.secret("secret");
  EXPECT_GE(secret.size(), 43u);
  EXPECT_EQ(folder.secret("secret"), secret);
  EXPECT_NE(folder.secret("webhook-secret"), secret);
  struct stat about{};
  ASSERT_EQ(stat((folder_.path() / "secret").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  std::ofstream(folder_.path() / "short") << "fifteen letters\n";
  EXPECT_THROW(folder.secret("short"), Corrupt);
}

TEST_F(CommandTest, AServerThatHasDiedIsNotFound) {
  const DataFolder folder(folder_.path());
  EXPECT_FALSE(folder.live_server());
  folder.write_server({"127.0.0.1:1", getpid()});
  EXPECT_EQ(folder.live_server()->address, "127.0.0.1:1");
  folder.write_server({"127.0.0.1:1", 0x3fffffff});
  EXPECT_FALSE(folder.live_server());
  folder.write_server({"127.0.0.1:1", getpid()});
  folder.remove_server();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "server.json"));
}

TEST_F(CommandTest, AListIsATableOrTheAnswerAsItIs) {
  const std::string body =
      R"({"items":[{"id":"01A","service":"gift","type":"donation.accepted","key":"kim","status":"FAILED","retryCount":2,)"
      R"("createdAt":"2026-11-15T20:00:00Z","lastError":"refused\u001b[2J"}],"nextCursor":"abc"})";
  Request asked;
  const Api api = [&](const Request& request) {
    asked = request;
    return Response{200, body, "application/json", {}};
  };
  run_outbox(parse({"outbox", "list", "--status", "FAILED", "--key", "a b&c"}), api, out_);
  EXPECT_EQ(asked.path, "/api/outbox?key=a%20b%26c&status=FAILED");
  EXPECT_EQ(out_.str(),
            "ID   SERVICE  TYPE               KEY  STATUS  RETRIES  CREATED               LAST ERROR\n"
            "01A  gift     donation.accepted  kim  FAILED  2        2026-11-15T20:00:00Z  refused\\u001b[2J\n"
            "\nthere is more: --cursor abc\n");
  out_.str("");
  run_outbox(parse({"outbox", "list", "--json"}), api, out_);
  EXPECT_EQ(out_.str(), body + "\n");
}

TEST_F(CommandTest, WhatLintAndCheckFindSteersNoTerminal) {
  analyser::Report report;
  report.sagas = {"a\x1b[2J"};
  report.findings.emplace_back();
  report.findings[0].resource = "row\u202e";
  report.findings[0].first = {"a\u009b", "b"};
  report.findings[0].explanation = "c";
  const Api api = [&](const Request&) { return Response{200, to_json(report), "application/json", {}}; };
  checker::Operation write;
  write.at = 1;
  write.saga_id = "s\u202e";
  write.saga_type = "t";
  write.step = "u\u009b";
  write.kind = checker::Kind::write;
  write.resource = write.key = "row\u2028";
  std::ofstream(folder_.path() / "history") << to_json(write) << '\n';
  const std::string file = (folder_.path() / "history").string();
  const OpenApi unused = []() -> Api { throw Unavailable("UNUSED", ""); };
  run_lint(parse({"lint", "--all"}), api, out_);
  run_lint(parse({"lint", "--json"}), api, out_);
  for (const char* how : {"--json", "--lines", "--edn", "--part"}) run_check(parse({"check", file, how}), unused, out_);
  run_check(parse({"check", file}), unused, out_);
  EXPECT_THAT(out_.str(), HasSubstr("\\u202e"));
  EXPECT_FALSE(has_controls(out_.str(), "\n")) << out_.str();
}

TEST_F(CommandTest, ADiscardSendsItsReason) {
  Request asked;
  const Api api = [&](const Request& request) {
    asked = request;
    return Response{200, R"({"id":"x/y","state":"DISCARDED"})", "application/json", {}};
  };
  run_dead_letters(parse({"dlq", "discard", "x/y", "--reason", "not \"ours\""}), api, out_);
  EXPECT_EQ(asked.method + " " + asked.path, "POST /api/dead-letters/x%2Fy/discard");
  EXPECT_EQ(asked.body, R"({"reason":"not \"ours\""})");
  EXPECT_THAT(out_.str(), HasSubstr("state  DISCARDED"));
  EXPECT_THROW(run_dead_letters(parse({"dlq", "discard", "x"}), api, out_), Invalid);
}

TEST_F(CommandTest, AProblemIsToldWithItsCode) {
  const Api api = [](const Request&) {
    return Response{404, R"({"code":"NO_SUCH_ENTRY","detail":"there is none"})", "application/problem+json", {}};
  };
  try {
    run_outbox(parse({"outbox", "show", "1"}), api, out_);
    FAIL();
  } catch (const Refused& error) {
    EXPECT_EQ(error.code(), "NO_SUCH_ENTRY");
    EXPECT_STREQ(error.what(), "there is none");
  }
}

TEST_F(CommandTest, AnImportWithDamagedLinesFails) {
  std::string body = R"({"imported":2,"known":0,"damaged":0})";
  const Api api = [&](const Request&) { return Response{200, body, "application/json", {}}; };
  EXPECT_EQ(run_dead_letters(parse({"dlq", "import"}), api, out_), kDone);
  body = R"({"imported":2,"known":0,"damaged":1})";
  EXPECT_EQ(run_dead_letters(parse({"dlq", "import", "--json"}), api, out_), kFailed);
  EXPECT_EQ(run_dead_letters(parse({"dlq", "import"}), api, out_), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("dead-letters*.damaged.*"));
}

TEST_F(CommandTest, AHistoryWithoutOperationsIsRefusedAndNotFoundClean) {
  const OpenApi unused = []() -> Api { throw Unavailable("UNUSED", ""); };
  const auto refusal = [&](const std::filesystem::path& path) -> std::string {
    try {
      run_check(parse({"check", path.string()}), unused, out_);
    } catch (const Invalid& error) {
      EXPECT_EQ(error.code(), "NO_HISTORY");
      return error.what();
    }
    return "";
  };
  std::ofstream(folder_.path() / "empty") << "\n\n";
  EXPECT_THAT(refusal(folder_.path() / "empty"), HasSubstr("there is no operation in"));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("is a folder; name a file"));
  EXPECT_THAT(refusal(folder_.path() / "none"), HasSubstr("does not exist; name a file"));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CommandTest, AStoryIsToldWholeInLinesThatFit) {
  std::string detail;
  for (int i = 0; i < 40; ++i) detail += "word" + std::to_string(i) + " ";
  const std::string body =
      R"({"lines":[{"at":"t","service":"s","source":"o","what":"w","detail":")" + detail + R"("}]})";
  const Api api = [&](const Request&) { return Response{200, body, "application/json", {}}; };
  run_story(parse({"story", "key"}), api, out_);
  std::istringstream lines(out_.str());
  std::string told, line;
  std::getline(lines, line);  // the headers
  const std::size_t column = line.find("DETAIL");
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), column + 60);
    told += line.substr(column) + " ";
  }
  EXPECT_EQ(told, detail);
}

TEST(Output, WhatHasNoSpaceIsBrokenAnyway) {
  std::ostringstream out;
  print_table(out, {"A", "B"}, {{std::string(130, 'x'), "é"}}, Long::wrap);
  EXPECT_EQ(out.str(), "A" + std::string(61, ' ') + "B\n" + std::string(60, 'x') + "  é\n" + std::string(60, 'x') +
                           "\n" + std::string(10, 'x') + "\n");
}

TEST(SystemLimits, ATextThatTellsOfOneGetsItsNameAndWhatToDo) {
  EXPECT_THAT(advice_on_limits("epoll: Too many open files"), HasSubstr("ulimit -n"));
  EXPECT_THAT(advice_on_limits("thread: Resource temporarily unavailable"), HasSubstr("ulimit -u"));
  EXPECT_THAT(advice_on_limits(std::bad_alloc().what()), HasSubstr("ulimit -v"));
  EXPECT_THAT(advice_on_limits("write: File too large"), HasSubstr("ulimit -f"));
  EXPECT_EQ(advice_on_limits("no such table"), "");
}

TEST(Output, CountsCharactersAndNotBytes) {
  std::ostringstream out;
  print_table(out, {"A", "B"}, {{"é", "x"}, {"ab", "y"}});
  EXPECT_EQ(out.str(), "A   B\né   x\nab  y\n");
}

// A column of text that begins a line anew, hides the rest, or turns it around.
TEST(Output, NothingThatSteersATerminalIsWrittenRaw) {
  const std::string nasty = "a\x1b[2J\u009b\u202eb\u2066\u2028c\xff";
  const std::string seen = "a\\u001b[2J\\u009b\\u202eb\\u2066\\u2028c?";
  std::ostringstream out;
  print_table(out, {"A"}, {{nasty}});
  print_fields(out, {{"name", nasty}});
  EXPECT_EQ(out.str(), "A\n" + seen + "\nname  " + seen + "\n");
}

TEST(Output, JsonKeepsItsValueAndSteersNoTerminal) {
  std::ostringstream out;
  print_json(out, "{\"a\":\"\u202e\\\\\u009b\",\n \"b\":1}");
  EXPECT_EQ(out.str(), "{\"a\":\"\\u202e\\\\\\u009b\",\n \"b\":1}\n");
  EXPECT_EQ(JsonView(out.str())["a"], "\u202e\\\u009b");
}

}  // namespace
}  // namespace skald::cli
