// A disk that fails, and a clock that jumps, as those see it who watch over the process.
#include <gmock/gmock.h>

#include <sstream>

#include "cli/command.h"
#include "cli/installation_view.h"
#include "http/engine_paths.h"
#include "http/fake_env.h"
#include "http/problem.h"
#include "support/faulty_disk.h"
#include "support/test_database.h"

namespace skald::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DiskTroubleTest : public testing::Test {
 protected:
  DiskTroubleTest() {
    routes_.act("/api/notes", Access::admin, {}, [this](const Request&) {
      db_->write("note", [](Transaction& tx) { tx.execute("UPDATE skald_schema SET version = version"); });
      return Response::text("noted");
    });
    http::add_engine_paths(routes_, {fake_.env, {{"inn", engine_}}, metrics_});
  }

  Response ask(const std::string& method, const std::string& path) {
    Request request;
    request.method = method;
    request.path = path;
    return routes_.dispatch(request);
  }
  std::string doctor() {
    std::ostringstream out;
    const Settings settings({}, {}, {{"data", folder_.path().string()}});
    const Api api = [&](const Request& request) {
      if (request.path != "/api/installation") return routes_.dispatch(request);
      InstallationView view = view_installation(settings, {});
      view.database = "sqlite inn";
      return Response::json(200, view);
    };
    const std::vector<std::string> words = {"doctor"};
    verdict_ = run_doctor(parse_arguments(words), {settings, {}, [&] { return std::optional(api); }, {}}, out);
    return out.str();
  }

  test::FaultyDisk disk_;
  test::TemporaryFolder folder_;
  http::FakeEnv fake_;
  Metrics metrics_;
  std::unique_ptr<Database> db_ = open_sqlite(fake_.env, {.path = (folder_.path() / "inn.db").string()});
  Engine engine_{fake_.env, *db_, {.works = false}};
  http::Routes routes_{fake_.env, http::Authenticator(fake_.env, std::nullopt), "1"};
  int verdict_ = 0;
};

TEST_F(DiskTroubleTest, AFullDiskIsToldEverywhereUntilThereIsRoom) {
  EXPECT_EQ(ask("POST", "/api/notes").status, 200);
  EXPECT_THAT(doctor(), HasSubstr("ok    ready"));
  EXPECT_EQ(verdict_, kDone);
  disk_.fill(0, test::FaultyDisk::kAll, true);
  const Response refused = ask("POST", "/api/notes");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("\"DISK_FULL\""));
  const Response unready = ask("GET", "/readyz");
  EXPECT_EQ(unready.status, 503);
  EXPECT_THAT(unready.body, HasSubstr("inn: the disk is full"));
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("\nskald_database_writable 0\n"));
  EXPECT_THAT(doctor(), AllOf(HasSubstr("fail  ready: "), HasSubstr("inn: the disk is full")));
  EXPECT_EQ(verdict_, kFailed);
  disk_.make_room();
  EXPECT_EQ(ask("GET", "/readyz").status, 200) << "it looks by itself whether there is room";
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("\nskald_database_writable 1\n"));
  EXPECT_EQ(ask("POST", "/api/notes").status, 200);
}

TEST_F(DiskTroubleTest, AWriterThatHasStoppedIsToldEverywhere) {
  disk_.fail_syncs(test::FaultyDisk::kAll);
  EXPECT_THAT(ask("POST", "/api/notes").body, HasSubstr("\"COMMIT_UNKNOWN\""));
  disk_.fail_syncs(0);
  const Response refused = ask("POST", "/api/notes");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("\"WRITER_STOPPED\""));
  const Response unready = ask("GET", "/readyz");
  EXPECT_EQ(unready.status, 503);
  EXPECT_THAT(unready.body, HasSubstr("inn.db failed"));
  EXPECT_THAT(unready.body, Not(HasSubstr(folder_.path().string()))) << "anybody may ask";
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("\nskald_database_writable 0\n"));
  EXPECT_THAT(doctor(), AllOf(HasSubstr("fail  ready: "), HasSubstr("inn: ")));
  EXPECT_EQ(verdict_, kFailed);
}

TEST_F(DiskTroubleTest, AClockThatHasJumpedIsToldByDoctorAndMetrics) {
  EXPECT_THAT(doctor(), HasSubstr("ok    clock: 0.0"));
  fake_.clock.ahead = 120'000'000;
  EXPECT_THAT(doctor(), HasSubstr("warn  clock: 120.0"));
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("\nskald_clock_skew_seconds 120\n"));
  EXPECT_EQ(fake_.observer.counts["store_clock_jumps_total"], 1);
  fake_.clock.ahead = 0;
  EXPECT_THAT(doctor(), HasSubstr("ok    clock: 0.0"));
}

}  // namespace
}  // namespace skald::cli
