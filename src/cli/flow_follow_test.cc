// skald flow watch and skald flow logs --follow, with a server that goes away and comes again.
#include "cli/flow_follow.h"

#include <gmock/gmock.h>

#include <sstream>
#include <stdexcept>

namespace skald::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FlowFollowTest : public testing::Test {
 protected:
  Follow follow() {
    return [this](const std::string& path, const std::string& last, const EventReader::Hear& hear) {
      asked_.push_back(path + " " + last);
      if (asked_.size() > servings_.size()) return false;
      const auto& serving = servings_[asked_.size() - 1];
      if (!serving) return false;
      if (serving->starts_with("!")) throw Refused(serving->substr(1), "no");
      EventReader().read(*serving, hear);
      return true;
    };
  }
  int watch(std::vector<std::string> words) {
    words.insert(words.begin(), {"flow", "watch", "F1"});
    return run_flow_watch(parse_arguments(words), follow(), [this](Duration) { ++waits_; }, out_);
  }
  int logs(std::vector<std::string> words) {
    words.insert(words.begin(), {"flow", "logs", "W1", "-f"});
    return run_flow_follow(
        parse_arguments(words), [this](const Request&) { return Response{200, work_, "application/json", {}}; },
        follow(), [this](Duration) { ++waits_; }, out_);
  }

  std::vector<std::optional<std::string>> servings_;  // what each connection says; nothing: no server is there
  std::vector<std::string> asked_;
  std::string work_ = R"({"id":"W1","status":"RUNNING","tasks":[{"n":1,"status":"COMPLETED","run":"W1.1.1"},)"
                      R"({"n":2,"status":"RUNNING","run":"W1.2.3"},{"n":3,"status":"PENDING"}]})";
  int waits_ = 0;
  std::ostringstream out_;
};

std::string told(const std::string& id, const std::string& name, const std::string& data) {
  return "id: " + id + "\nevent: " + name + "\ndata: " + data + "\n\n";
}

TEST_F(FlowFollowTest, AWatchGoesOnBehindTheLastEventWhenTheServerIsBack) {
  servings_ = {
      ":\n\n" + told("1", "workflow-created", R"({"at":"T1","status":"CREATED"})") +
          "id: 2\nevent: half",  // cut in the middle
      std::nullopt,
      told("2", "work-started", R"({"at":"T2","workId":"W1"})") + told("3", "workflow-deleted", R"({"at":"T3"})")};
  EXPECT_EQ(watch({}), kDone);
  EXPECT_EQ(out_.str(), "T1  workflow-created  CREATED\nT2  work-started  work W1\nT3  workflow-deleted\n");
  const std::string path = "/agentflow/workflows/F1/events ";
  EXPECT_THAT(asked_, ElementsAre(path, path + "1", path + "1"));
}

TEST_F(FlowFollowTest, AWatchEndsWithAWorkflowThatWasDeletedUnseenAndGivesUpAServerThatStaysAway) {
  servings_ = {told("1", "workflow-created", R"({"at":"T1"})"), "!WORKFLOW_NOT_FOUND"};
  EXPECT_EQ(watch({"--json"}), kDone);
  EXPECT_EQ(out_.str(), "{\"at\":\"T1\"}\n");
  servings_ = {};
  asked_.clear();
  EXPECT_THROW(watch({}), Unavailable);
  servings_ = {"!WORKFLOW_NOT_FOUND"};
  asked_.clear();
  EXPECT_THROW(watch({}), Refused) << "there never was one";
}

TEST_F(FlowFollowTest, LogsFollowTheTaskOverACutToItsEndAndNoFurther) {
  servings_ = {told("2.3.4", "output", R"({"task":2,"run":"W1.2.3","offset":0,"text":"one\n"})"),
               told("2.3.8", "output", R"({"task":2,"run":"W1.2.3","offset":4,"text":"t\u001bo\n"})") +
                   told("2.3.8.x", "task", R"({"task":2,"attempt":3,"run":"W1.2.3","ended":true,"status":"FAILED"})") +
                   told("3.1.2", "output", R"({"task":3,"run":"W1.3.1","offset":0,"text":"no\n"})")};
  EXPECT_EQ(logs({}), kDone);
  EXPECT_EQ(out_.str(), "one\nt\\u001bo\n");
  EXPECT_THAT(asked_, ElementsAre("/agentflow/works/W1/output 2.3.0", "/agentflow/works/W1/output 2.3.4"));
}

TEST_F(FlowFollowTest, LogsOfATaskThatHasNotBegunWaitForItAndEndWithTheWork) {
  servings_ = {told("2.3.0.x", "end", R"({"workId":"W1","status":"CANCELLED"})")};
  EXPECT_EQ(logs({"--task", "3"}), kDone);
  EXPECT_THAT(asked_, ElementsAre("/agentflow/works/W1/output 3.0.0.x"));
}

TEST(EventReaderTest, EventsAreWholeHoweverTheirTextIsCut) {
  const std::string text = "retry: 2000\n\n" + told("1", "a", "x") + ":\n\n" + told("2", "b", "y");
  for (std::size_t size = 1; size <= text.size(); ++size) {
    EventReader reader;
    std::string heard;
    for (std::size_t at = 0; at < text.size(); at += size)
      EXPECT_TRUE(reader.read(std::string_view(text).substr(at, size), [&](const StreamEvent& event) {
        heard += event.id + event.name + event.data + " ";
        return true;
      }));
    EXPECT_EQ(heard, "1ax 2by ");
  }
  EXPECT_FALSE(EventReader().read("data: " + std::string(9 << 20, 'x'), [](const StreamEvent&) { return true; }));
}

}  // namespace
}  // namespace skald::cli
