// What the program says at its limits, and by its exit code.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "end_to_end/skald_process.h"
#include "support/built.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

struct Shell {
  int status;
  std::string out;  // stderr, too
};

// `skald` is the program.
Shell shell(const std::string& command) {
  FILE* pipe =
      popen(("skald() { " + std::string(built::kProgram) + " \"$@\"; }; { " + command + "; } 2>&1").c_str(), "r");
  Shell out{-1, ""};
  char bytes[4096];
  for (std::size_t got = 0; (got = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) out.out.append(bytes, got);
  const int status = pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) out.push_back(entry.path().string());
  std::ranges::sort(out);
  return out;
}

class CommandLine : public testing::Test {
 protected:
  std::string data() const { return (folder_.path() / "data").string(); }
  CommandResult doctor(const SkaldServer::Variables& variables = {}) {
    return run_skald({"doctor", "--data", data()}, variables);
  }
  TemporaryFolder folder_;
};

TEST_F(CommandLine, AFullDiskBehindTheOutputIsAFailure) {
  const std::vector<std::string> commands = {"skald --version", "skald serve --help", "skald completion bash",
                                             "skald token --role admin --subject kim --data " + data()};
  for (const std::string& command : commands) {
    const Shell told = shell(command + " >/dev/full");
    EXPECT_EQ(told.status, 1) << command;
    EXPECT_THAT(told.out, HasSubstr("OUTPUT_FAILED")) << command;
  }
}

TEST_F(CommandLine, AFolderInPlaceOfAFileIsToldWithWhatToDo) {
  const std::string folder = folder_.path().string();
  const Shell settings = shell("skald doctor --config " + folder);
  EXPECT_EQ(settings.status, 2);
  EXPECT_THAT(settings.out, HasSubstr("is a folder; --config"));
  fs::create_directories(fs::path(data()) / "donation.db");
  const Shell served = shell("skald serve --listen 127.0.0.1:0 --data " + data());
  EXPECT_EQ(served.status, 1);
  EXPECT_THAT(served.out, HasSubstr("donation.db"));
}

TEST_F(CommandLine, ALimitOfOpenFilesIsToldWithItsName) {
  const Shell served = shell("ulimit -n 16; skald serve --listen 127.0.0.1:0 --data " + data());
  EXPECT_EQ(served.status, 1);
  EXPECT_THAT(served.out, HasSubstr("ulimit -n"));
}

TEST_F(CommandLine, ADamagedDatabaseIsNamed) {
  fs::create_directory(data());
  std::ofstream(fs::path(data()) / "course.db") << std::string(8192, 'x');
  const Shell served = shell("skald serve --listen 127.0.0.1:0 --data " + data());
  EXPECT_EQ(served.status, 1);
  EXPECT_THAT(served.out, HasSubstr("course.db is damaged"));
  EXPECT_THAT(served.out, HasSubstr("DATABASE_CORRUPT"));
  EXPECT_THAT(doctor().out, HasSubstr("course.db"));
}

TEST_F(CommandLine, DoctorCreatesNothing) {
  EXPECT_EQ(doctor().status, 1);
  EXPECT_THAT(files_in(folder_.path()), testing::IsEmpty());
  {
    SkaldServer server({"--data", data(), "--services", "donation"});
    EXPECT_EQ(server.stop(), 0);
  }
  const auto before = files_in(folder_.path());
  const auto looked = doctor();
  EXPECT_EQ(looked.status, 0) << looked.out;
  EXPECT_THAT(looked.out, HasSubstr("warn  server: none runs"));
  EXPECT_THAT(looked.out, HasSubstr("0 pending"));
  EXPECT_EQ(files_in(folder_.path()), before);
}

TEST_F(CommandLine, DoctorSaysThatADatabaseWasNotClosed) {
  {
    SkaldServer server({"--data", data(), "--services", "donation"});
    server.kill_hard();
  }
  const auto before = files_in(folder_.path());
  EXPECT_THAT(doctor().out, HasSubstr("donation.db was not closed"));
  EXPECT_EQ(files_in(folder_.path()), before);
}

TEST_F(CommandLine, DoctorAsksTheServerWhatItUses) {
  SkaldServer server({"--data", data()}, {{"SKALD_DB", "memory:"},
                                          {"SKALD_DONATION_WEBHOOK", "http://127.0.0.1:9/x"},
                                          {"SKALD_WEBHOOK_ALLOW_PRIVATE", "1"}});
  const auto looked = doctor();
  EXPECT_EQ(looked.status, 0) << looked.out << looked.err;
  EXPECT_THAT(looked.out, HasSubstr("database memory:"));
  EXPECT_THAT(looked.out, HasSubstr("ok    donation.webhook: 127.0.0.1"));
  EXPECT_THAT(looked.out, HasSubstr("ok    ready:"));
}

TEST_F(CommandLine, DoctorLooksAtPostgresqlAndCreatesNothingThere) {
  const ScratchPostgres database;
  const SkaldServer::Variables variables = {{"SKALD_DB", database.url()}};
  EXPECT_THAT(doctor(variables).out, HasSubstr("NO_INSTALLATION"));
  EXPECT_THAT(doctor(variables).out, HasSubstr("NO_INSTALLATION")) << "the first one created something";
  {
    SkaldServer server({"--data", data(), "--services", "donation"}, variables);
    EXPECT_EQ(server.stop(), 0);
  }
  EXPECT_THAT(doctor(variables).out, HasSubstr("postgresql answers"));
}

TEST_F(CommandLine, LintOfTheShippedSagasSaysCovered) {
  SkaldServer server({"--data", data()});
  const auto quiet = run_skald({"lint", "--data", data()}, {}, &server);
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(std::ranges::count(quiet.out, '\n'), 1) << quiet.out;
  const auto all = run_skald({"lint", "--all", "--data", data()}, {}, &server);
  EXPECT_EQ(all.status, 0);
  EXPECT_THAT(all.out, Not(HasSubstr("warning:")));
  EXPECT_THAT(all.out, Not(HasSubstr("error:")));
  EXPECT_THAT(all.out, Not(HasSubstr("note:"))) << all.out;
  EXPECT_THAT(all.out, HasSubstr("covered: "));
}

}  // namespace
}  // namespace skald::test
