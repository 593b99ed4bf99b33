#include "agentflow/script/script.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "agentflow/mailbox.h"
#include "support/test_database.h"

namespace agentflow {
namespace {

class ScriptedAgent : public testing::Test {
 protected:
  ScriptedAgent() { std::filesystem::create_directory(work_); }

  int run(const std::string& script) {
    std::istringstream in(script);
    out_.str(""), err_.str("");
    skald::Variables variables = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                  {"SKALD_SPACE", folder_.path().string()},
                                  {"SKALD_WORK", "W"},
                                  {"SKALD_TASK", "1"}};
    if (!mailbox_.empty()) variables["SKALD_MAILBOX"] = mailbox_;
    return run_script(*clock_, {work_, variables}, in, out_, err_);
  }
  std::string file(const std::string& name) const {
    std::ifstream in(work_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  skald::test::TemporaryFolder folder_;
  std::unique_ptr<skald::Clock> clock_ = skald::system_clock();
  std::string work_ = (folder_.path() / "work").string();
  std::string mailbox_;
  std::ostringstream out_, err_;
};

TEST_F(ScriptedAgent, DoesWhatItsLinesSay) {
  EXPECT_EQ(run("# a comment\n\nsay hello there\nwrite a/b.txt one two\nappend a/b.txt three\ncost 0.25\nwait 0"), 0)
      << err_.str();
  EXPECT_EQ(out_.str(), "hello there\ncost: 0.25\n");
  EXPECT_EQ(file("a/b.txt"), "one two\nthree\n");
}

TEST_F(ScriptedAgent, FailsAsItIsToldAndOnceOnly) {
  EXPECT_EQ(run("fail 7\nsay never"), 7);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(run("fail-once 9\nsay again"), 9);
  EXPECT_EQ(run("fail-once 9\nsay again"), 0);
  EXPECT_EQ(out_.str(), "again\n");
}

TEST_F(ScriptedAgent, CommitsEverythingThatLiesInItsFolder) {
  ASSERT_TRUE(skald::run_command(*clock_, {.argv = {"git", "init", "-q"}, .folder = work_}).ok());
  EXPECT_EQ(run("write a.txt one\ncommit the first one"), 0) << err_.str();
  EXPECT_EQ(skald::run_command(*clock_, {.argv = {"git", "log", "--format=%s"}, .folder = work_}).out,
            "the first one\n");
}

TEST_F(ScriptedAgent, APathThatLeadsOutOfTheWorkingFolderIsRefused) {
  std::filesystem::create_directory_symlink(folder_.path(), work_ + "/out");
  for (const char* path : {"../x", "/tmp/skald-never", "a/../../x", "out/x", ".", ".git/config", "x/../.git/hooks/y"}) {
    EXPECT_EQ(run("write " + std::string(path) + " text"), 64) << path;
    EXPECT_EQ(err_.str().rfind("line 1: ", 0), 0u) << err_.str();
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "x"));
}

TEST_F(ScriptedAgent, AsksAPersonAndGoesOnWithTheAnswer) {
  const Mailbox mailbox = Mailbox::make(folder_.path().string(), "W.1.1");
  mailbox.write(answer_file(1), skald::to_json(MailAnswer{"blue {answer}"}));
  mailbox_ = mailbox_path(folder_.path().string(), "W.1.1");
  EXPECT_EQ(run("say {answer}\nask Which colour?\nwrite colour.txt it is {answer}, {answer}"), 0) << err_.str();
  EXPECT_EQ(out_.str(), "{answer}\nanswer: blue {answer}\n");
  EXPECT_EQ(file("colour.txt"), "it is blue {answer}, blue {answer}\n");
  EXPECT_EQ(skald::from_json<AgentRequest>(mailbox.read(request_file(1)).text.value()).text, "Which colour?");
  EXPECT_EQ(run("ask"), 64);
}

TEST_F(ScriptedAgent, ALineThatIsWrongEndsItWithTheLinesNumber) {
  for (const char* line : {"dance", "fail 0", "fail 126", "fail x", "wait -1", "wait 86401", "cost -1", "cost",
                           "commit", "wait-for", "write", "ask how"}) {
    EXPECT_EQ(run("say first\n" + std::string(line) + "\nsay last"), 64) << line;
    EXPECT_EQ(err_.str().rfind("line 2: ", 0), 0u) << err_.str();
    EXPECT_EQ(out_.str(), "first\n");
  }
}

}  // namespace
}  // namespace agentflow
