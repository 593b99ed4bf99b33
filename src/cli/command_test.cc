#include "cli/command.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "cli/data_folder.h"
#include "cli/json_view.h"
#include "cli/output.h"
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
  const analyser::Report report{
      {"a\x1b[2J"}, 1, {{.resource = "row\u202e", .first = {"a\u009b", "b"}, .explanation = "c"}}};
  const Api api = [&](const Request&) { return Response{200, to_json(report), "application/json", {}}; };
  checker::Operation write{.at = 1, .saga_id = "s\u202e", .saga_type = "t", .step = "u\u009b"};
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

TEST_F(CommandTest, DoctorFailsWhereTheDatabaseDoesNotAnswerAndSaysWhatToDo) {
  const Settings bad = settings({{"donation.webhook", "http://127.0.0.1:9/x"}});
  const Examined ill{bad, []() -> Api { throw Unavailable("DOWN", "start the database"); }, {}};
  EXPECT_EQ(run_doctor(parse({"doctor"}), ill, out_), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("fail  database: DOWN: start the database"));
  EXPECT_THAT(out_.str(), HasSubstr("fail  donation.webhook: 127.0.0.1"));
  EXPECT_THAT(out_.str(), HasSubstr("webhook.allow_private"));
}

TEST_F(CommandTest, DoctorIsContentWithAHealthyInstallation) {
  const Settings good = settings({{"donation.webhook", "http://127.0.0.1:9/x"}, {"webhook.allow_private", "true"}});
  const Api api = [](const Request&) {
    return Response{
        200,
        R"({"database":"sqlite","schema":[{"component":"skald","version":1}],"clockSkewSeconds":0.1,"pending":3,)"
        R"("oldestPending":"2026-11-15T20:00:00Z","deadLetters":2,"workers":1})",
        "application/json",
        {}};
  };
  EXPECT_EQ(run_doctor(parse({"doctor", "--json"}), {good, [&] { return api; }, {"SKALD_X is no setting"}}, out_),
            kDone);
  EXPECT_THAT(out_.str(), HasSubstr(R"({"ok":true,)"));
  EXPECT_THAT(out_.str(), HasSubstr(R"({"health":"warn","check":"dead letters","detail":"2 waiting; look)"));
  EXPECT_THAT(out_.str(), HasSubstr(R"("detail":"SKALD_X is no setting")"));
  EXPECT_THAT(out_.str(), HasSubstr("skald 1"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("fail")));
}

TEST_F(CommandTest, DoctorJudgesEachServiceWhereThereAreSeveral) {
  const Settings good = settings();
  const Api api = [](const Request&) {
    return Response{
        200,
        R"({"database":"sqlite","schema":[],"clockSkewSeconds":0,"pending":0,"deadLetters":2,"workers":2,"services":[)"
        R"({"service":"inn","database":"sqlite","schema":[],"clockSkewSeconds":0,"pending":0,"deadLetters":0},)"
        R"({"service":"bar","database":"sqlite","schema":[],"clockSkewSeconds":0,"pending":0,"deadLetters":2}]})",
        "application/json",
        {}};
  };
  EXPECT_EQ(run_doctor(parse({"doctor"}), {good, [&] { return api; }, {}}, out_), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("ok    inn database: sqlite answers\n"));
  EXPECT_THAT(out_.str(), HasSubstr("ok    inn dead letters: 0 waiting\n"));
  EXPECT_THAT(out_.str(), HasSubstr("warn  bar dead letters: 2 waiting; look"));
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
