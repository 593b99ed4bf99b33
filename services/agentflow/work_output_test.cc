#include "agentflow/work_output.h"

#include <gtest/gtest.h>

namespace agentflow {
namespace {

class WorkOutputTest : public testing::Test {
 protected:
  WorkOutputTest() {
    work_.tasks = {{.n = 1, .prompt = "", .status = TaskStatus::RUNNING, .attempt = 1}, {.n = 2, .prompt = ""}};
    source_.read = [this](const std::string& run, std::int64_t offset, std::size_t most) {
      const std::string& all = written_[run];
      return static_cast<std::size_t>(offset) < all.size() ? all.substr(static_cast<std::size_t>(offset), most) : "";
    };
    source_.lives = [this](const std::string&) { return lives_; };
  }
  std::string next() { return next_output(work_, place_, end_told_, source_).value_or("none"); }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

  WatchedWork work_{.id = "W", .status = WorkStatus::RUNNING};
  std::map<std::string, std::string> written_;
  bool lives_ = false, end_told_ = false;
  OutputPlace place_;
  OutputSource source_;
};

TEST_F(WorkOutputTest, EveryIdIsReadBackAndNothingElseIsOne) {
  for (const OutputPlace& place :
       {OutputPlace{1, 2, 3, false}, OutputPlace{7, 1, 1'000'000'000'000, true}, OutputPlace{}})
    EXPECT_EQ(place_of(id_of(place)), place) << id_of(place);
  for (const char* bad : {"", "1", "1.2", "1.2.", "1.2.3.", "1.2.3.y", "-1.2.3", "1.2.99999999999999999999", "1.2.3 "})
    EXPECT_EQ(place_of(bad), std::nullopt) << bad;
}

TEST_F(WorkOutputTest, ACharacterComesWholeAndWhatIsNoneIsReplaced) {
  written_["W.1.1"] = "a\xff\xed\x95";
  EXPECT_TRUE(has(next(), R"("text":"a?"})"));
  EXPECT_EQ(next(), "");
  written_["W.1.1"] += "\x9c";
  EXPECT_TRUE(has(next(), "id: 1.1.5\n"));
  written_["W.1.1"] += "\xed";
  work_.tasks[0].status = TaskStatus::FAILED;
  EXPECT_TRUE(has(next(), R"("offset":5,"text":"?"})")) << "its rest does not come any more";
}

TEST_F(WorkOutputTest, RunsFollowEachOtherAndTheEndIsToldOnce) {
  written_ = {{"W.1.1", "first"}, {"W.1.2", "again"}, {"W.2.1", "second"}};
  work_.tasks[0].attempt = 2;
  work_.tasks[0].status = TaskStatus::COMPLETED;
  work_.tasks[1] = {.n = 2, .prompt = "", .status = TaskStatus::COMPLETED, .attempt = 1};
  work_.status = WorkStatus::COMPLETED;
  const std::string all = next();
  const std::size_t first = all.find("first"), again = all.find("again"), second = all.find("second");
  EXPECT_TRUE(first < again && again < second && second != all.npos) << all;
  EXPECT_TRUE(has(next(), "event: end\n"));
  EXPECT_EQ(next(), "none");
}

TEST_F(WorkOutputTest, APartIsBoundedAndTheNextOneGoesOnBehindIt) {
  written_["W.1.1"] = std::string(3 * kOutputChunk, 'x');
  for (int part = 1; part <= 3; ++part) {
    EXPECT_LT(next().size(), kOutputChunk + 1'000);
    EXPECT_EQ(place_.offset, static_cast<std::int64_t>(part * kOutputChunk));
  }
  EXPECT_EQ(next(), "");
}

TEST_F(WorkOutputTest, AnAgentThatWasToldToEndIsHeardUntilItHas) {
  work_.status = WorkStatus::STOPPED;
  work_.agent_status = AgentStatus::STOPPING;
  lives_ = true;
  next();
  written_["W.1.1"] = "last words";
  EXPECT_TRUE(has(next(), "last words"));
  EXPECT_EQ(next(), "");
  lives_ = false;
  EXPECT_TRUE(has(next(), R"("ended":true)"));
  EXPECT_TRUE(has(next(), R"("status":"STOPPED")"));
}

TEST_F(WorkOutputTest, ADeletedWorkEndsItsStream) {
  next();
  work_ = {.id = "W", .gone = true};
  EXPECT_TRUE(has(next(), R"(data: {"workId":"W"})"));
  EXPECT_EQ(next(), "none");
}

}  // namespace
}  // namespace agentflow
