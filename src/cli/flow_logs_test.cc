// skald flow logs, with an agent that writes between two looks.
#include <gmock/gmock.h>

#include <sstream>
#include <stdexcept>

#include "cli/command.h"

namespace skald::cli {
namespace {

using testing::HasSubstr;

struct WrittenTask {
  std::string status = "PENDING", run, output;
};

class FlowLogsTest : public testing::Test {
 protected:
  int logs(std::vector<std::string> words) {
    words.insert(words.begin(), {"flow", "logs", "W1"});
    out_.str("");
    return run_flow_logs(
        parse_arguments(words), [this](const Request& request) { return answer(request); },
        [this](Duration) {
          if (looks_ == 100) throw std::runtime_error("it does not end");
          if (looks_ < between_.size()) between_[looks_]();
          ++looks_;
        },
        out_);
  }
  std::string code_of_logs(std::vector<std::string> words) {
    try {
      logs(std::move(words));
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  }

  Response answer(const Request& request) const {
    if (request.path == "/agentflow/works/W1") return {200, work(), "application/json", {}};
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const std::string path = "/agentflow/works/W1/tasks/" + std::to_string(i + 1) + "/output?offset=";
      if (!request.path.starts_with(path)) continue;
      const std::size_t offset = std::stoul(request.path.substr(path.size()));
      const std::string& all = tasks_[i].output;
      return {200, offset < all.size() ? all.substr(offset, chunk_) : "", "application/octet-stream", {}};
    }
    return {404, R"({"code":"WORK_NOT_FOUND","detail":"there is none"})", "application/json", {}};
  }
  std::string work() const {
    std::string out = R"({"id":"W1","status":")" + status_ + R"(","tasks":[)";
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      out += (i == 0 ? "" : ",") + std::string(R"({"n":)") + std::to_string(i + 1) + R"(,"status":")" +
             tasks_[i].status + "\"" + (tasks_[i].run.empty() ? "" : R"(,"run":")" + tasks_[i].run + "\"") + "}";
    return out + "]}";
  }

  std::string status_ = "RUNNING";
  std::vector<WrittenTask> tasks_{{"COMPLETED", "R1", "first\n"}, {"RUNNING", "R2", "second\n"}, {}};
  std::size_t chunk_ = 1 << 20;
  std::vector<std::function<void()>> between_;  // what happens between two looks
  std::size_t looks_ = 0;
  std::ostringstream out_;
};

TEST_F(FlowLogsTest, TheOutputIsOfTheLastTaskThatHasBegunOrOfTheOneThatIsNamed) {
  EXPECT_EQ(logs({}), kDone);
  EXPECT_EQ(out_.str(), "second\n");
  logs({"--task", "1"});
  EXPECT_EQ(out_.str(), "first\n");
  logs({"--task", "3"});
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(looks_, 0u) << "nobody waits without --follow";
  EXPECT_EQ(code_of_logs({"--task", "4"}), "TASK_NOT_FOUND");
  EXPECT_EQ(code_of_logs({"--task", "../1"}), "TASK_NOT_FOUND");
}

TEST_F(FlowLogsTest, AWorkWithoutABeginningSaysSoOrIsWaitedFor) {
  tasks_ = {{}};
  status_ = "PENDING";
  EXPECT_EQ(code_of_logs({}), "TASK_NOT_BEGUN");
  between_ = {[this] { status_ = "RUNNING"; }, [this] { tasks_[0] = {"RUNNING", "R1", "begun\n"}; },
              [this] { tasks_[0].status = "COMPLETED"; }};
  EXPECT_EQ(logs({"-f"}), kDone);
  EXPECT_EQ(out_.str(), "begun\n");
}

TEST_F(FlowLogsTest, FollowingReadsAllThatWasWrittenBeforeTheEnd) {
  chunk_ = 3;
  between_ = {[this] { tasks_[1].output += "more\n"; },
              [this] {
                tasks_[1].output += "last\n";
                tasks_[1].status = "FAILED";
              }};
  logs({"--follow"});
  EXPECT_EQ(out_.str(), "second\nmore\nlast\n");
  EXPECT_EQ(looks_, 2u);
}

TEST_F(FlowLogsTest, FollowingEndsWithAWorkThatWasStopped) {
  between_ = {[this] {
    tasks_[1].status = "PENDING";
    status_ = "STOPPED";
  }};
  logs({"-f"});
  EXPECT_EQ(looks_, 1u);
}

TEST_F(FlowLogsTest, AnotherRunOfTheTaskIsReadFromItsBeginning) {
  between_ = {[this] { tasks_[1] = {"RUNNING", "R3", "again\n"}; }, [this] { tasks_[1].status = "COMPLETED"; }};
  logs({"-f"});
  EXPECT_EQ(out_.str(), "second\nagain\n");
}

TEST_F(FlowLogsTest, NothingThatAnAgentWritesSteersTheTerminalAndCharactersStayWhole) {
  tasks_[1].output = "\x1b[2J한국\tz\xff\n\xed\x95";
  for (chunk_ = 1; chunk_ < 8; ++chunk_) {
    logs({});
    EXPECT_THAT(out_.str(), HasSubstr("\\u001b[2J한국\tz?\n?")) << chunk_;
  }
}

TEST_F(FlowLogsTest, JsonIsALineForEachPart) {
  tasks_[1].output = "a\"b\n";
  logs({"--json"});
  EXPECT_EQ(out_.str(), R"({"task":2,"run":"R2","text":"a\"b\n"})"
                        "\n");
}

}  // namespace
}  // namespace skald::cli
