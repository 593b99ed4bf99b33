// What an installation keeps is its owner's alone, whatever the umask, and also where an older
// program left it open to others.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "end_to_end/skald_process.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

namespace fs = std::filesystem;

class PrivateFiles : public testing::Test {
 protected:
  PrivateFiles() : umask_before_(umask(022)) {}
  ~PrivateFiles() override { umask(umask_before_); }

  static mode_t mode_of(const fs::path& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  void expect_private(const std::string& when) {
    EXPECT_EQ(mode_of(data_), 0700u) << when;
    int files = 0;
    for (const auto& entry : fs::directory_iterator(data_)) {
      EXPECT_EQ(mode_of(entry.path()), 0600u) << when << ": " << entry.path();
      ++files;
    }
    EXPECT_GE(files, 8) << when;
  }
  std::unique_ptr<SkaldServer> serve() {
    auto server = std::make_unique<SkaldServer>(std::vector<std::string>{
        "--services", "donation,order", "--data", data_.string(), "--donation-webhook", "http://127.0.0.1:9/x"});
    server->request("POST", "/donation/donations", R"({"requestId":"r1","donor":"kim","amount":500,"currency":"EUR"})");
    return server;
  }

  const mode_t umask_before_;
  TemporaryFolder folder_;
  const fs::path data_ = folder_.path() / "made" / "data";
};

TEST_F(PrivateFiles, NewOnesAndThoseThatExist) {
  {
    const auto server = serve();
    EXPECT_TRUE(fs::exists(data_ / "donation.db-wal"));
    EXPECT_TRUE(fs::exists(data_ / "server.json"));
    EXPECT_EQ(run_skald({"token", "--role", "admin", "--subject", "kim", "--data", data_.string()}).status, 0);
    EXPECT_TRUE(fs::exists(data_ / "secret"));
    expect_private("new");
    server->kill_hard();  // so that all of them stay
  }
  fs::permissions(data_, fs::perms(0755));
  fs::copy_file(data_ / "secret", data_ / "dead-letters");
  for (const auto& entry : fs::directory_iterator(data_)) fs::permissions(entry.path(), fs::perms(0644));
  const auto server = serve();
  expect_private("existing");
}

}  // namespace
}  // namespace skald::test
