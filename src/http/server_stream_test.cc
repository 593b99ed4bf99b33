#include "http/server_fixture.h"

namespace skald::http {
namespace {

TEST_F(ServerTest, AStreamTellsWhatIsThereAndThenWhatIsPublished) {
  told_ = 1;
  start();
  RawClient client = connect();
  client.send(get("/events"));
  const std::string head = client.read_until("data: 1\n\n");
  EXPECT_TRUE(has(head, "content-type: text/event-stream\r\n"));
  EXPECT_TRUE(has(head, "retry: "));
  for (int i = 2; i < 50; ++i) {
    told_ = i;
    publisher_.publish("news");
    EXPECT_TRUE(has(client.read_until("data: " + std::to_string(i) + "\n\n"), "data: "));
  }
  told_ = 50;
  publisher_.publish("other news");
  publisher_.publish("news");
  client.read_until("data: 50\n\n");
  ended_ = true;
  publisher_.publish("news");
  EXPECT_TRUE(client.read_to_end().ends_with("0\r\n\r\n"));
}

TEST_F(ServerTest, AnIdleStreamBeatsAndEndsCleanlyOnStop) {
  options.heartbeat = 20ms;
  start();
  RawClient client = connect();
  client.send(get("/events"));
  EXPECT_TRUE(has(client.read_until("3\r\n:\n\n\r\n"), "200 OK"));
  client.read_until("3\r\n:\n\n\r\n");
  server_->stop(10s);
  EXPECT_TRUE(client.read_to_end().ends_with("0\r\n\r\n"));
}

TEST_F(ServerTest, AStreamInPartsIsAskedOnUntilItHasNothingLeft) {
  options.heartbeat = 1h;  // or a stream that has stopped would never seem silent
  routes_.stream("/parts", Access::customer, {}, [](const Request&) {
    return Stream{"nobody publishes it",
                  [told = 0]() mutable -> std::optional<std::string> {
                    return told == 5 ? "" : "data: " + std::to_string(++told) + "\n\n";
                  },
                  true};
  });
  start();
  RawClient client = connect();
  client.send(get("/parts"));
  EXPECT_TRUE(has(client.read_until("data: 5\n\n"), "data: 4\n\n"));
}

TEST_F(ServerTest, AClientThatDoesNotReadIsCutAndOwedOnePartAtMost) {
  options.body_timeout = 100ms;
  struct Flood {
    std::atomic<int> asked = 0;
    std::promise<void> gone;
  };
  const auto flood = std::make_shared<Flood>();
  routes_.stream("/flood", Access::customer, {}, [flood](const Request&) {
    const std::shared_ptr<void> mine(nullptr, [flood](void*) { flood->gone.set_value(); });
    return Stream{"flood",
                  [flood, mine]() -> std::optional<std::string> {
                    ++flood->asked;
                    return "data: " + std::string(1 << 20, 'x') + "\n\n";
                  },
                  true};
  });
  start();
  RawClient client = connect();
  client.send(get("/flood"));
  EXPECT_EQ(flood->gone.get_future().wait_for(20s), std::future_status::ready) << "it is not cut";
  EXPECT_LT(flood->asked, 64) << "more than the sockets hold was made for it";
}

TEST_F(ServerTest, StreamsAreBoundedAndAClientThatLeftFreesItsPlace) {
  options.streams_max = 1;
  start();
  {
    RawClient first = connect();
    first.send(get("/events"));
    first.read_until("retry: ");
    EXPECT_EQ(status(ask(get("/events"))), 503);
  }
  int tries = 0;
  while (first_status(get("/events")) != 200 && ++tries < 10'000) {}
  EXPECT_LT(tries, 10'000);
}

TEST_F(GuardedServerTest, AStreamEndsWhenItsTokenDoes) {
  start();
  RawClient client = connect();
  client.send(get("/events", bearer("kim")));
  client.read_until("retry: ");
  fake_.clock.micros += 3'599'000'000;
  told_ = 1;
  publisher_.publish("news");
  client.read_until("data: 1\n\n");
  fake_.clock.micros += 1'000'000;
  publisher_.publish("news");
  EXPECT_TRUE(client.read_to_end().ends_with("0\r\n\r\n"));
}

TEST_F(GuardedServerTest, OneCallerHasAShareOfTheStreams) {
  options.streams_per_subject = 2;
  start();
  std::vector<std::unique_ptr<RawClient>> open;
  for (int i = 0; i < 2; ++i) {
    open.push_back(std::make_unique<RawClient>(server_->port()));
    open.back()->send(get("/events", bearer("kim")));
    open.back()->read_until("retry: ");
  }
  const std::string refused = ask(get("/events", bearer("kim")));
  EXPECT_EQ(status(refused), 429);
  EXPECT_TRUE(has(refused, "TOO_MANY_OWN_STREAMS"));
  EXPECT_TRUE(has(refused, "retry-after: 5\r\n"));
  EXPECT_EQ(first_status(get("/events", bearer("lee"))), 200);
  open.pop_back();
  int tries = 0;
  while (first_status(get("/events", bearer("kim"))) != 200 && ++tries < 10'000) {}
  EXPECT_LT(tries, 10'000);
}

TEST_F(ServerTest, StopLetsTheRequestUnderWayFinishAndClosesIdleConnections) {
  start();
  RawClient idle = connect();
  idle.send(get("/hello/x"));
  idle.read_response();
  RawClient busy = connect();
  busy.send(get("/slow"));
  entered_.get_future().wait();
  auto stopping = std::async(std::launch::async, [this] { server_->stop(20s); });
  EXPECT_EQ(idle.read_to_end(), "");  // so the stop has begun
  released_.set_value();
  EXPECT_TRUE(has(busy.read_to_end(), "slow done"));
  stopping.get();
  EXPECT_THROW(connect(), std::runtime_error);
}

TEST_F(ServerTest, StopCutsWhatIsNotDoneWithinTheGrace) {
  start();
  RawClient busy = connect();
  busy.send(get("/slow"));
  entered_.get_future().wait();
  server_->stop(20ms);
  EXPECT_EQ(busy.read_to_end(), "");
  thread_.join();
  server_.reset();  // the handler ends after its server
  released_.set_value();
}

TEST_F(ServerTest, AServerThatIsStoppedBeforeItRunsDoesNotRun) {
  server_ = std::make_unique<Server>(fake_.env, options, routes_, publisher_, [](std::function<void()>) {});
  server_->stop(1s);
  auto run = std::async(std::launch::async, [this] { server_->run(); });
  EXPECT_EQ(run.wait_for(20s), std::future_status::ready) << "it runs though it was stopped";
  server_->stop(1s);  // of one that does run
}

TEST_F(ServerTest, AnAddressThatIsTakenIsToldAtOnce) {
  start();
  ServerOptions taken{.port = server_->port()};
  EXPECT_THROW(Server(fake_.env, taken, routes_, publisher_, [](std::function<void()>) {}), Unavailable);
}

}  // namespace
}  // namespace skald::http
