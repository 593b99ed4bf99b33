#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "cli/installation_view.h"
#include "dead_letter/fallback_file.h"
#include "support/test_database.h"

namespace skald::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSound =
    R"({"database":"sqlite","schema":[{"component":"skald","version":1}],"clockSkewSeconds":0.1,"pending":3,)"
    R"("oldestPending":"2026-11-15T20:00:00Z","deadLetters":2,"workers":1})";

class DoctorTest : public testing::Test {
 protected:
  Settings settings(Values more = {}) const {
    more.emplace("data", (folder_.path() / "data").string());
    return Settings({}, {}, more);
  }
  // What a server with those settings would say.
  InstallationView view(const Values& of, const std::string& database = "sqlite data") const {
    InstallationView out = view_installation(settings(of), {});
    out.version = "1.2.3";
    out.pid = 7;
    out.database = database;
    return out;
  }
  void serves(const std::string& path, std::string body, int status = 200) {
    answers_[path] = {status, std::move(body), "application/json", {}};
  }
  void serves(const InstallationView& what) {
    serves("/api/installation", to_json(what));
    serves("/readyz", "{}");
    serves("/api/overview", kSound);
    serves("/api/subscribers?limit=200", R"({"items":[]})");
  }
  int run(const Settings& own, const std::vector<std::string>& words = {"doctor"},
          const std::vector<std::string>& warnings = {}) {
    const Arguments arguments = parse_arguments(words);
    const Api api = [this](const Request& request) {
      const auto found = answers_.find(request.path);
      return found != answers_.end()
                 ? found->second
                 : Response{404, R"({"code":"UNKNOWN_PATH","detail":"none"})", "application/problem+json", {}};
    };
    const auto server = [&] { return answers_.empty() ? std::nullopt : std::optional(api); };
    return run_doctor(arguments, {own, warnings, server, look_, parse_time("2026-11-15T21:00:00Z")}, out_);
  }

  test::TemporaryFolder folder_;
  std::map<std::string, Response> answers_;
  std::function<std::string()> look_ = [] { return std::string(kSound); };
  std::ostringstream out_;
};

TEST_F(DoctorTest, ADatabaseThatDoesNotAnswerIsAFailureWithWhatToDo) {
  look_ = []() -> std::string { throw Unavailable("DOWN", "start the database"); };
  EXPECT_EQ(run(settings({{"donation.webhook", "http://127.0.0.1:9/x"}})), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("warn  server: none runs on " + folder_.path().string()));
  EXPECT_THAT(out_.str(), HasSubstr("fail  database: DOWN: start the database"));
  EXPECT_THAT(out_.str(), HasSubstr("fail  donation.webhook: 127.0.0.1"));
  EXPECT_THAT(out_.str(), HasSubstr("webhook.allow_private"));
}

TEST_F(DoctorTest, LooksAndCreatesNothing) {
  look_ = []() -> std::string { throw NotFound("NO_INSTALLATION", "begin with `skald serve`"); };
  EXPECT_EQ(run(settings()), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("there is no folder"));
  EXPECT_THAT(out_.str(), HasSubstr("NO_INSTALLATION"));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(DoctorTest, AFileInPlaceOfTheFolderIsToldApart) {
  std::ofstream(folder_.path() / "data") << "?";
  EXPECT_EQ(run(settings()), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("is no folder; choose another with --data"));
}

TEST_F(DoctorTest, IsContentWithAHealthyServer) {
  fs::create_directory(folder_.path() / "data");
  serves(view({{"donation.webhook", "http://127.0.0.1:9/x"}, {"webhook.allow_private", "true"}}));
  EXPECT_EQ(run(settings(), {"doctor", "--json"}), kDone) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr(R"({"ok":true,)"));
  EXPECT_THAT(out_.str(), HasSubstr(R"({"health":"warn","check":"dead letters","detail":"2 waiting; look)"));
  EXPECT_THAT(out_.str(), HasSubstr("skald 1"));
  EXPECT_THAT(out_.str(), HasSubstr("version 1.2.3, pid 7, services all"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("fail")));
}

// The server was started with variables and flags that this shell does not have.
TEST_F(DoctorTest, JudgesWhatTheServerUsesAndNotItsOwnSettings) {
  fs::create_directory(folder_.path() / "data");
  InstallationView theirs = view({{"donation.webhook", "http://127.0.0.1:9/x"}}, "postgresql://far/skald");
  theirs.warnings = {"SKALD_X is no setting"};
  serves(theirs);
  EXPECT_EQ(run(settings({{"webhook.allow_private", "true"}}), {"doctor"}, {"SKALD_MINE is no setting"}), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("database postgresql://far/skald"));
  EXPECT_THAT(out_.str(), HasSubstr("fail  donation.webhook: 127.0.0.1"));
  EXPECT_THAT(out_.str(), HasSubstr("warn  settings: SKALD_X is no setting"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("SKALD_MINE")));
}

TEST_F(DoctorTest, AGatewayHasNoDatabaseAndNoDonations) {
  fs::create_directory(folder_.path() / "data");
  serves(view({{"services", "user-api"}}, "none"));
  answers_.erase("/api/overview");
  EXPECT_EQ(run(settings()), kDone) << out_.str();
  EXPECT_THAT(out_.str(), Not(HasSubstr("donation.webhook")));
  serves("/readyz", R"({"code":"NOT_READY","detail":"course: gives no answer over NATS"})", 503);
  EXPECT_EQ(run(settings()), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("fail  ready: NOT_READY: course: gives no answer over NATS"));
}

TEST_F(DoctorTest, AServerWithAnotherSecretIsToldWithTheWayIn) {
  serves("/api/installation", R"({"code":"BAD_TOKEN","detail":"the token is not valid"})", 401);
  EXPECT_EQ(run(settings()), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("fail  server: BAD_TOKEN: the token is not valid; set SKALD_AUTH_SECRET"));
}

TEST_F(DoctorTest, RecordsInTheFallbackFileAreCounted) {
  fs::create_directory(folder_.path() / "data");
  const std::string path = (folder_.path() / "data" / "dead-letters-booking").string();
  FallbackFile file(path);
  file.append("{}");
  file.append("{}");
  std::ofstream(path, std::ios::app) << "SKALD1 torn\n";
  for (const bool running : {false, true}) {
    out_.str("");
    if (running) serves(view({}));
    EXPECT_EQ(run(settings()), kDone) << out_.str();
    EXPECT_THAT(out_.str(), HasSubstr("warn  fallback files: 2 dead letters and 1 damaged lines in "));
    EXPECT_THAT(out_.str(), HasSubstr("dead-letters-booking; bring them back with `skald dlq import`"));
  }
}

TEST_F(DoctorTest, JudgesEachServiceWhereThereAreSeveral) {
  fs::create_directory(folder_.path() / "data");
  serves(view({}));
  serves("/api/overview",
         R"({"database":"sqlite","schema":[],"clockSkewSeconds":0,"pending":0,"deadLetters":2,"workers":2,"services":[)"
         R"({"service":"inn","database":"sqlite","schema":[],"clockSkewSeconds":0,"pending":0,"deadLetters":0},)"
         R"({"service":"bar","database":"sqlite","schema":[],"clockSkewSeconds":0,"pending":0,"deadLetters":2}]})");
  EXPECT_EQ(run(settings()), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("ok    inn database: sqlite answers\n"));
  EXPECT_THAT(out_.str(), HasSubstr("ok    inn dead letters: 0 waiting\n"));
  EXPECT_THAT(out_.str(), HasSubstr("warn  bar dead letters: 2 waiting; look"));
}

// It is 21:00 on 15 November.
class DoctorPostTest : public DoctorTest {
 protected:
  DoctorPostTest() {
    fs::create_directory(folder_.path() / "data");
    serves(view({}));
    audit("post.gap", "");
    audit("post.strange", "");
  }
  void audit(const std::string& action, const std::string& items) {
    serves("/api/audit?action=" + action + "&limit=200&service=inn", R"({"items":[)" + items + "]}");
  }
  std::string told(const std::string& subscriber) {
    serves("/api/subscribers?limit=200",
           R"({"items":[{"name":"bar","service":"inn","types":["visit.*"],)" + subscriber + "}]}");
    out_.str("");
    EXPECT_EQ(run(settings()), kDone) << out_.str();
    return out_.str();
  }
};

TEST_F(DoctorPostTest, ASubscriberThatHasWhatItIsOwedIsWell) {
  EXPECT_THAT(told(R"("owed":2,"oldest":"2026-11-15T20:59:00Z","configured":true)"),
              HasSubstr("ok    inn sends to bar: 2 events are owed to it, the oldest since 2026-11-15T20:59:00Z\n"));
}

TEST_F(DoctorPostTest, OneThatNothingReachesIsToldWithSinceWhenAndHowMuchItIsOwed) {
  EXPECT_THAT(told(R"("owed":10000,"atLeast":true,"oldest":"2026-11-15T20:00:00Z","configured":true,)"
                   R"("trouble":"it gives no answer","troubleSince":"2026-11-15T20:58:00Z")"),
              HasSubstr("warn  inn sends to bar: nothing reaches it since 2026-11-15T20:58:00Z: it gives no answer; "
                        "10000 or more events are owed to it, the oldest since 2026-11-15T20:00:00Z; nothing is lost"));
}

TEST_F(DoctorPostTest, OneThatIsOwedOldEventsIsTold) {
  EXPECT_THAT(
      told(R"("owed":1,"oldest":"2026-11-15T20:49:59Z","configured":true)"),
      HasSubstr("warn  inn sends to bar: 1 events are owed to it, the oldest since 2026-11-15T20:49:59Z; look"));
  EXPECT_THAT(told(R"("owed":1,"oldest":"2026-11-15T20:50:00Z","configured":true)"), HasSubstr("ok    inn sends to"));
}

TEST_F(DoctorPostTest, OneThatNobodyAsksForIsTold) {
  EXPECT_THAT(
      told(R"("owed":0,"configured":false)"),
      HasSubstr("warn  inn sends to bar: the running program does not ask for it, and nothing is owed to it; "));
}

TEST_F(DoctorPostTest, GapsOfTheLastDayAreTold) {
  audit("post.gap",
        R"({"service":"inn","target":"bar","at":"2026-11-15T20:00:00Z","detail":"2 events are sent again"},)"
        R"({"service":"inn","target":"bar","at":"2026-11-14T22:00:00Z","detail":"earlier"},)"
        R"({"service":"inn","target":"bar","at":"2026-11-14T20:00:00Z","detail":"too old"})");
  audit("post.strange", R"({"service":"inn","target":"bar","at":"2026-11-15T20:30:00Z","detail":"has 1 events"})");
  const std::string out = told(R"("owed":0,"configured":true)");
  EXPECT_THAT(out,
              HasSubstr("warn  inn sends to bar: 2 times POST_GAP in the last day, at 2026-11-15T20:00:00Z for the "
                        "last time: 2 events are sent again; docs/operating.md"));
  EXPECT_THAT(out, HasSubstr("warn  inn sends to bar: 1 times POST_STRANGE in the last day"));
}

}  // namespace
}  // namespace skald::cli
