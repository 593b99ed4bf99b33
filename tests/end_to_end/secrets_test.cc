// Who can see the program's secrets, and what a hang-up does to it.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>

#include "end_to_end/skald_process.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr char kTokenSecret[] = "a secret that is long enough for everybody";

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> children_of(pid_t pid) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string status = content_of(entry.path() / "status");
    if (status.find("\nPPid:\t" + std::to_string(pid) + "\n") != status.npos) out.push_back(entry.path());
  }
  return out;
}

class SecretsTest : public testing::Test {
 protected:
  std::vector<std::string> data() const { return {"--data", folder_.path().string()}; }
  std::string token(const std::string& role) const {
    const auto made = run_skald({"token", "--role", role, "--subject", "kim"}, {{"SKALD_AUTH_SECRET", kTokenSecret}});
    EXPECT_EQ(made.status, 0) << made.err;
    return made.out;
  }
  TemporaryFolder folder_;
};

TEST_F(SecretsTest, TheSandboxProviderHasNoneOfOurVariables) {
  SkaldServer server(data(), {{"SKALD_AUTH_SECRET", kTokenSecret}});
  const auto children = children_of(server.pid());
  ASSERT_THAT(children, SizeIs(1));
  EXPECT_THAT(content_of(children[0] / "cmdline"), HasSubstr("sandbox-provider"));
  EXPECT_EQ(content_of(children[0] / "environ"), "");
}

TEST_F(SecretsTest, AHangUpIsIgnoredByTheServerAndItsProvider) {
  SkaldServer server(data());
  const auto children = children_of(server.pid());
  ASSERT_THAT(children, SizeIs(1));
  kill(server.pid(), SIGHUP);
  kill(static_cast<pid_t>(std::stol(children[0].filename())), SIGHUP);
  EXPECT_EQ(server.request("GET", "/readyz").status, 200);
  EXPECT_EQ(server.request("GET", "/order/provider").status, 200);
  EXPECT_TRUE(fs::exists(folder_.path() / "server.json"));
  EXPECT_EQ(server.stop(), 0);
  EXPECT_FALSE(fs::exists(folder_.path() / "server.json"));
}

TEST_F(SecretsTest, APasswordOnTheCommandLineIsRefusedAndNotRepeated) {
  const auto refused = run_skald({"serve", "--db", "postgresql://kim:hunter2@127.0.0.1:1/skald"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("SKALD_DB"));
  EXPECT_THAT(refused.err, Not(HasSubstr("hunter2")));
  EXPECT_EQ(run_skald({"sagas", "list", "--server", "http://127.0.0.1:1", "--token", "abc"}).status, 2);
}

TEST_F(SecretsTest, ATokenComesByVariableOrByFile) {
  SkaldServer server(data(), {{"SKALD_AUTH_SECRET", kTokenSecret}});
  const std::vector<std::string> ask = {"outbox", "list", "--server",
                                        "http://127.0.0.1:" + std::to_string(server.port())};
  EXPECT_THAT(run_skald(ask).err, HasSubstr("MISSING_TOKEN"));
  const std::string admin = token("admin"), bare = admin.substr(0, admin.size() - 1);
  EXPECT_EQ(run_skald(ask, {{"SKALD_TOKEN", bare}}).status, 0);

  std::ofstream(folder_.path() / "token") << admin;
  auto by_file = ask;
  by_file.insert(by_file.end(), {"--token-file", (folder_.path() / "token").string()});
  EXPECT_EQ(run_skald(by_file).status, 0);
  EXPECT_THAT(run_skald(by_file, {{"SKALD_TOKEN", "the file is nearer"}}).err, "");
  by_file.back() = (folder_.path() / "none").string();
  EXPECT_EQ(run_skald(by_file).status, 2);
}

// The server's secret is not this shell's: a token serves on the data folder's server, too.
TEST_F(SecretsTest, ATokenIsShownToTheServerOfTheDataFolder) {
  SkaldServer server(data(), {{"SKALD_AUTH_SECRET", kTokenSecret}});
  auto ask = data();
  ask.insert(ask.begin(), {"outbox", "list"});
  const std::string admin = token("admin");
  EXPECT_EQ(run_skald(ask, {{"SKALD_TOKEN", admin.substr(0, admin.size() - 1)}}).status, 0);
}

}  // namespace
}  // namespace skald::test
