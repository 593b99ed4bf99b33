// What happened to a workflow, as a list and as a stream, and what agents write: on real sockets, without the server's tick
// of every second, so that what is told was pushed.
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <thread>

#include "agentflow/history.h"
#include "end_to_end/agentflow_site.h"
#include "http/raw_client.h"
#include "http/server.h"

namespace skald::test {
namespace {

using agentflow::TaskStatus;
using agentflow::WorkflowStatus;

struct StreamedEvent {
  std::string id, name;
  boost::json::value data;
};

// Those that are whole in what came from a socket.
std::vector<StreamedEvent> events_in(const std::string& raw) {
  std::vector<StreamedEvent> out;
  StreamedEvent now;
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t end = std::min(raw.find('\n', at), raw.size());
    const std::string line = raw.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("id: ")) now.id = line.substr(4);
    if (line.starts_with("event: ")) now.name = line.substr(7);
    if (line.starts_with("data: ")) {
      now.data = json::parse(line.substr(6));
      out.push_back(std::exchange(now, {}));
    }
  }
  return out;
}

std::string read_through(http::RawClient& client, const std::string& event) {
  std::string out = client.read_until("event: " + event + "\n");
  out += client.read_until("\n\n");
  return out;
}

class AgentflowStreams : public AgentflowTest {
 protected:
  ~AgentflowStreams() override { stop_serving(); }

  void serve() {
    server_ =
        std::make_unique<http::Server>(env_, http::ServerOptions{.port = 0, .heartbeat = 1h}, *routes_, publisher_,
                                       [this](std::function<void()> job) { boost::asio::post(pool_, std::move(job)); });
    network_ = std::thread([this] { server_->run(); });
  }
  void stop_serving() {
    if (!server_) return;
    server_->stop(5s);
    network_.join();
    pool_.join();
    server_.reset();
  }
  void serve_after_restart() {
    server_->stop(5s);
    network_.join();
    restart();
    serve();
  }
  std::unique_ptr<http::RawClient> open_stream(const std::string& path, const std::string& last = "") {
    auto client = std::make_unique<http::RawClient>(server_->port(), 60);
    client->send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                 (last.empty() ? "" : "Last-Event-ID: " + last + "\r\n") + "\r\n");
    return client;
  }
  boost::json::array story_of(const std::string& id, const std::string& query = "?limit=200") {
    return json::parse(call("GET", "/agentflow/workflows/" + id + "/story" + query).body).at("items").as_array();
  }
  void append(const std::string& workflow_id, const std::string& event_id, std::int64_t kept = 10'000) {
    const Message message{{.id = event_id,
                           .type = "agentflow.tested",
                           .key = workflow_id,
                           .subject = workflow_id,
                           .payload = R"({"workflowId":")" + workflow_id + R"("})"},
                          "/test",
                          clock_->now(),
                          1,
                          false};
    (*db_)->write("append", [&](Transaction& tx) { agentflow::append_history(tx, workflow_id, message, kept); });
  }

  boost::asio::thread_pool pool_{4};
  std::unique_ptr<http::Server> server_;
  std::thread network_;
};

std::map<std::string, int> types_in(const boost::json::array& story) {
  std::map<std::string, int> out;
  for (const auto& one : story) ++out[std::string(one.at("type").as_string())];
  return out;
}

TEST_P(AgentflowStreams, TheStoryHasEveryEventOfAWorkflowOnceUnderPositionsWithoutGaps) {
  const std::string id = create(add_git(), {{"true", "true"}, {"true", "true"}});
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  until([&] { return types_in(story_of(id))["agentflow.workflow-completed"] == 1; }, "the story has no end");
  const auto story = story_of(id);
  for (std::size_t i = 0; i < story.size(); ++i) EXPECT_EQ(story[i].at("position").to_number<std::size_t>(), i + 1);
  EXPECT_EQ(story[0].at("type").as_string(), "agentflow.workflow-created");
  auto types = types_in(story);
  EXPECT_EQ(types["agentflow.agent-started"], 4);
  EXPECT_EQ(types["agentflow.agent-ended"], 4);
  EXPECT_EQ(types["agentflow.task-completed"], 2);
  EXPECT_EQ(types["agentflow.work-completed"], 2);
  EXPECT_EQ(types["agentflow.checkpoint-created"], 2);
  EXPECT_EQ(types["agentflow.workflow-started"], 1);
  const auto page = json::parse(call("GET", "/agentflow/workflows/" + id + "/story?limit=3").body);
  EXPECT_EQ(page.at("items").as_array().size(), 3u);
  const auto rest = story_of(id, "?cursor=" + std::string(page.at("nextCursor").as_string()));
  EXPECT_EQ(rest.at(0).at("position").to_number<int>(), 4);
}

TEST_P(AgentflowStreams, PositionsStayDenseWhereSeveralAppendAtOnceAndAreSeenInTheirOrder) {
  const std::string id = create(add_git(), {{"true"}});
  until([&] { return story_of(id).size() == 1; }, "the creation is not noted");
  std::vector<std::future<void>> all;
  std::atomic<bool> over = false;
  for (int writer = 0; writer < 3; ++writer)
    all.push_back(std::async(std::launch::async, [this, id, writer] {
      for (int n = 0; n < 40;) try {
          append(id, std::to_string(writer) + "/" + std::to_string(n));
          ++n;
        } catch (const Stale&) {}  // as the engine does, once more
    }));
  auto reader = std::async(std::launch::async, [&] {
    for (bool last = false; !last;) {
      last = over;
      EXPECT_EQ(rows("SELECT COALESCE(MAX(position), 0) - COUNT(*) FROM flow_history"), 0) << "a gap was seen";
    }
  });
  for (auto& one : all) one.get();
  over = true;
  reader.get();
  EXPECT_EQ(rows("SELECT COUNT(*) FROM flow_history"), 121);
  EXPECT_EQ(rows("SELECT MAX(position) FROM flow_history"), 121);
}

TEST_P(AgentflowStreams, AnEventIsNotedOnceTheOldestGoAndADeletedWorkflowHasNoStory) {
  const std::string id = create(add_git(), {{"true"}});
  until([&] { return story_of(id).size() == 1; }, "the creation is not noted");
  for (int n = 0; n < 24; ++n) append(id, std::to_string(n), 10);
  append(id, "23", 10);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM flow_history"), 10);
  EXPECT_EQ(rows("SELECT MIN(position) FROM flow_history"), 16);
  EXPECT_EQ(rows("SELECT last FROM flow_story"), 25);
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
  until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the workflow is not deleted");
  append(id, "late");
  expect_nothing_left();
}

TEST_P(AgentflowStreams, AWatcherThatComesAgainAfterARestartMissesNothingAndHearsNothingTwice) {
  const std::string id = create(add_git(), {{waits_for(gate())}, {"true"}});
  serve();
  const std::string path = "/agentflow/workflows/" + id + "/events";
  auto client = open_stream(path);
  act(id, "start");
  auto heard = events_in(read_through(*client, "agent-started"));
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back().name, "agent-started");
  client.reset();
  serve_after_restart();
  open_gate();
  becomes(id, WorkflowStatus::COMPLETED);
  client = open_stream(path, heard.back().id);
  for (auto& one : events_in(read_through(*client, "workflow-completed"))) heard.push_back(std::move(one));
  EXPECT_EQ(heard.back().name, "workflow-completed");
  for (std::size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(heard[i].id, std::to_string(i + 1));
}

TEST_P(AgentflowStreams, AWatcherCatchesUpWithMoreThanOnePartHolds) {
  const std::string id = create(add_git(), {{"true"}});
  until([&] { return story_of(id).size() == 1; }, "the creation is not noted");
  for (int n = 0; n < 320; ++n) append(id, std::to_string(n));
  serve();
  const auto heard = events_in(open_stream("/agentflow/workflows/" + id + "/events?after=1")->read_until("id: 321\n"));
  ASSERT_EQ(heard.size(), 319u);
  EXPECT_EQ(heard.front().id, "2");
}

TEST_P(AgentflowStreams, DeletionIsTheLastThingThatAWatcherHears) {
  const std::string id = create(add_git(), {{"true"}});
  serve();
  auto client = open_stream("/agentflow/workflows/" + id + "/events");
  client->read_until("event: workflow-created\n");
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
  const std::string rest = client->read_to_end();
  EXPECT_TRUE(rest.ends_with("0\r\n\r\n"));
  ASSERT_FALSE(events_in(rest).empty());
  EXPECT_EQ(events_in(rest).back().name, "workflow-deleted");
}

TEST_P(AgentflowStreams, WhatAgentsWriteIsHeardAsItComesAndOverARestartOnce) {
  const std::string id = create(add_git(), {{"echo one; " + waits_for(gate()) + "; echo two", "echo three"}});
  serve();
  const std::string path = "/agentflow/works/" + works(id)[0].id + "/output";
  auto client = open_stream(path);
  act(id, "start");
  auto heard = events_in(read_through(*client, "output"));
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].name, "task");
  EXPECT_EQ(heard[1].data.at("text").as_string(), "one\n");
  client.reset();
  serve_after_restart();
  client = open_stream(path, heard[1].id);
  open_gate();
  const std::string rest = client->read_to_end();
  std::string text, names;
  for (const auto& one : events_in(rest)) {
    names += one.name + " ";
    if (one.name == "output") text += one.data.at("text").as_string();
  }
  EXPECT_EQ(text, "two\nthree\n");
  EXPECT_EQ(names, "output task task output task end ");
  EXPECT_EQ(events_in(rest).back().data.at("status").as_string(), "COMPLETED");
}

TEST_P(AgentflowStreams, WhatIsNoPositionAndNoWorkflowIsRefused) {
  const std::string id = create(add_git(), {{"true"}});
  const std::string path = "/agentflow/workflows/" + id + "/events?after=";
  for (const char* bad : {"x", "-1", "1x", "99999999999999999999"})
    EXPECT_EQ(flow_problem(call("GET", path + bad)), "BAD_POSITION") << bad;
  EXPECT_EQ(call("GET", path + "7").status, 200);
  EXPECT_EQ(call("GET", "/agentflow/workflows/none/events").status, 404);
  EXPECT_EQ(call("GET", "/agentflow/workflows/none/story").status, 404);
  EXPECT_EQ(call("GET", "/agentflow/works/none/output").status, 404);
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowStreams, testing::Values(Dialect::sqlite, Dialect::postgres), flow_database);

}  // namespace
}  // namespace skald::test
