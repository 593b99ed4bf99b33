#include "bus/nats/nats_bus.h"

#include <gmock/gmock.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <memory>
#include <mutex>
#include <optional>

#include "bus/nats/nats_fixture.h"
#include "conformance/bus_conformance.h"
#include "fault_proxy/fault_proxy.h"
#include "skald/error.h"

namespace skald::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The server leads what is published to skald.gate.* past the stream to the
// harness, which notes it and either answers itself or hands it to the stream.
class NatsHarness {
 public:
  NatsHarness() : server_("mappings = { \"skald.gate.*\": \"gated.$1\" }"), gate_(server_.url()) {
    gate_.make_stream("skald-gate", {"skald.gate.*", "stored.*"});
    gate_.subscribe("gated.*", [this](natsMsg* message) { pass(message); });
    bus_ = std::make_unique<NatsBus>(scene_.env, bus_options(server_.url(), "gate"));
  }
  ~NatsHarness() { gate_.close(); }

  Bus& bus() { return *bus_; }
  void fail_next(int count) { failing_ = count; }
  void refuse_next(int count) { refusing_ = count; }
  std::vector<BusArrival> arrivals() {
    const std::lock_guard lock(mutex_);
    return arrivals_;
  }
  void drop_bus() { bus_.reset(); }

 private:
  void pass(natsMsg* message) {
    const std::string body(natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message)));
    const char* id = nullptr;
    natsMsgHeader_Get(message, "Nats-Msg-Id", &id);
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [event, text] : events_in(id, body)) {
        const std::size_t data = text.find("\"data\":") + 7;
        arrivals_.push_back({event, text.substr(data, text.size() - data - 1), text});
      }
    }
    const char* reply = natsMsg_GetReply(message);
    if (failing_ > 0 && failing_-- > 0)
      gate_.publish(reply, R"({"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}})");
    else if (refusing_ > 0 && refusing_-- > 0)
      gate_.publish(reply, R"({"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum"}})");
    else gate_.publish("stored.0", body, reply, id);
  }

  Scene scene_;
  NatsServer server_;
  std::mutex mutex_;
  std::vector<BusArrival> arrivals_;
  std::atomic<int> failing_ = 0, refusing_ = 0;
  NatsPeer gate_;
  std::unique_ptr<NatsBus> bus_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Nats, BusConformance, NatsHarness);

class NatsBusTest : public ::testing::Test, protected Scene {
 protected:
  NatsBusOptions options() const { return bus_options(shared_nats_url(), topic); }
  void open(NatsBusOptions chosen) { bus = std::make_unique<NatsBus>(env, std::move(chosen)); }

  Outcome send(Message message) {
    std::optional<Outcome> result;
    bus->send(std::move(message), [&](Outcome outcome) { result = std::move(outcome); });
    while (!result) bus->poll(1s);
    return *result;
  }
  Outcome send(const std::string& id) { return send(make_message(id)); }

  const std::string topic = unused_topic();
  std::unique_ptr<NatsBus> bus;
};

TEST_F(NatsBusTest, AnEventIsStoredUnderItsPartitionWithItsIdAndItsEnvelope) {
  open(options());
  const Message message = make_message("event-1");
  EXPECT_EQ(send(message).verdict, Verdict::delivered);
  const auto stored = NatsPeer(shared_nats_url()).stored(topic);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].subject, "skald." + topic + "." + std::to_string(partition_of("donor-1")));
  EXPECT_EQ(stored[0].id, "event-1");
  EXPECT_EQ(stored[0].body, cloud_event(message));
}

TEST_F(NatsBusTest, EventsOfAPartitionAreStoredInTheOrderOfSending) {
  open(options());
  std::map<std::string, std::vector<std::string>> sent, stored;
  int delivered = 0;
  for (int i = 0; i < 500; ++i) {
    Message message = make_message("event-" + std::to_string(i));
    message.event.key = "donor-" + std::to_string(i % 7);
    sent[nats_subject(topic, partition_of(message.event.key))].push_back(message.event.id);
    bus->send(message, [&](const Outcome& outcome) { delivered += outcome.verdict == Verdict::delivered; });
  }
  while (bus->in_flight() > 0) bus->poll(1s);
  EXPECT_EQ(delivered, 500);
  for (const auto& one : NatsPeer(shared_nats_url()).stored(topic)) stored[one.subject].push_back(one.id);
  EXPECT_EQ(stored, sent);
}

// One message of a partition is on its way; what comes meanwhile goes together in the next.
TEST_F(NatsBusTest, EventsOfAPartitionThatAreSentAtOnceGoInOneMessage) {
  open(options());
  std::vector<std::string> ends;
  const auto send_all = [&](std::initializer_list<const char*> ids) {
    for (const char* id : ids)
      bus->send(make_message(id), [&ends, id](const Outcome& outcome) {
        ends.push_back(id + std::string(outcome.verdict == Verdict::delivered ? " delivered" : " not"));
      });
    while (bus->in_flight() > 0) bus->poll(1s);
  };
  send_all({"a", "b", "c"});
  send_all({"c"});            // alone it is another message, and the receiver's to dedupe
  send_all({"a", "b", "c"});  // dropped by the stream
  EXPECT_THAT(ends, ElementsAre("a delivered", "b delivered", "c delivered", "c delivered", "a delivered",
                                "b delivered", "c delivered"));
  NatsPeer peer(shared_nats_url());
  EXPECT_THAT(peer.stored_ids(topic), ElementsAre("a", "b", "c", "c"));
  EXPECT_EQ(number_in(peer.ask("STREAM.INFO." + nats_stream(topic)), {"state", "messages"}), 2u);
}

// It has another event in it: to drop it for the one that it shares would lose the other.
TEST_F(NatsBusTest, ABatchOfOtherEventsWithTheSameLastOneIsNotADuplicate) {
  open(options());
  for (const char* first : {"a", "b"}) {
    for (const char* id : {first, "z"}) bus->send(make_message(id), [](const Outcome&) {});
    while (bus->in_flight() > 0) bus->poll(1s);
  }
  EXPECT_THAT(NatsPeer(shared_nats_url()).stored_ids(topic), ElementsAre("a", "z", "b", "z"));
}

TEST_F(NatsBusTest, WhatIsTooLargeTakesNobodyWithItButThoseBehindItComeAgain) {
  NatsServer server("max_payload = 2000");
  open(bus_options(server.url(), topic));
  EXPECT_EQ(send("event-0").verdict, Verdict::delivered);
  std::map<std::string, Outcome> ends;
  const std::string half = '"' + std::string(900, 'x') + '"', all = '"' + std::string(3000, 'x') + '"';
  for (const auto& [id, payload] :
       {std::pair("a", half), std::pair("b", half), std::pair("c", all), std::pair("d", half)})
    bus->send(make_message(id, payload), [&ends, id](Outcome outcome) { ends[id] = std::move(outcome); });
  while (bus->in_flight() > 0) bus->poll(1s);
  EXPECT_EQ(ends.at("a").verdict, Verdict::delivered);
  EXPECT_EQ(ends.at("b").verdict, Verdict::delivered);
  EXPECT_EQ(ends.at("c").verdict, Verdict::refused);
  EXPECT_EQ(ends.at("d").verdict, Verdict::retry);  // it must not pass what its keeper may want to hold it for
  EXPECT_TRUE(ends.at("d").at_once);
  EXPECT_THAT(NatsPeer(server.url()).stored_ids(topic), ElementsAre("event-0", "a", "b"));
}

TEST_F(NatsBusTest, AnEventSentTwiceIsStoredOnce) {
  open(options());
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  EXPECT_EQ(NatsPeer(shared_nats_url()).stored_ids(topic), std::vector<std::string>{"event-1"});
}

TEST_F(NatsBusTest, AnEventWhoseAcknowledgementIsLostIsRetriedAndStoredOnce) {
  NatsServer server;
  FaultProxy proxy("127.0.0.1", server.port());
  open(bus_options("nats://127.0.0.1:" + std::to_string(proxy.port()), topic));
  EXPECT_EQ(send("event-0").verdict, Verdict::delivered);
  proxy.at_message("event-1", FaultProxy::Fault::lose_answer);
  const Outcome lost = send("event-1");
  EXPECT_EQ(lost.verdict, Verdict::retry);
  EXPECT_TRUE(lost.at_once);
  EXPECT_FALSE(lost.error.empty());
  EXPECT_EQ(NatsPeer(server.url()).stored_ids(topic), (std::vector<std::string>{"event-0", "event-1"}));
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  EXPECT_EQ(NatsPeer(server.url()).stored_ids(topic), (std::vector<std::string>{"event-0", "event-1"}));
}

TEST_F(NatsBusTest, NoAcknowledgementInTimeMeansRetry) {
  NatsServer server;
  FaultProxy proxy("127.0.0.1", server.port());
  open(bus_options("nats://127.0.0.1:" + std::to_string(proxy.port()), topic));
  EXPECT_EQ(send("event-0").verdict, Verdict::delivered);
  proxy.hold(FaultProxy::Direction::to_client);
  std::optional<Outcome> result;
  bus->send(make_message("event-1"), [&](Outcome outcome) { result = std::move(outcome); });
  bus->poll(0s);
  proxy.wait_for_held(FaultProxy::Direction::to_client);
  bus->poll(0s);
  EXPECT_FALSE(result);
  clock.advance(5s);
  bus->poll(0s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, Verdict::retry);
  EXPECT_THAT(result->error, HasSubstr("no answer in time"));
  // The late acknowledgement harms nobody.
  proxy.release(FaultProxy::Direction::to_client);
  EXPECT_EQ(send("event-2").verdict, Verdict::delivered);
}

TEST_F(NatsBusTest, AServerThatIsAwayDelaysAndIsUsedAgainWhenItComesBack) {
  NatsServer server;
  open(bus_options(server.url(), topic));
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  server.stop();
  while (bus->is_ready()) bus->poll(1s);
  std::optional<Outcome> away;
  bus->send(make_message("event-2"), [&](Outcome outcome) { away = std::move(outcome); });
  bus->poll(0s);
  EXPECT_FALSE(away);
  clock.advance(5s);
  while (!away) bus->poll(0s);
  EXPECT_EQ(away->verdict, Verdict::retry);
  EXPECT_THAT(away->error, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
  server.start();
  EXPECT_EQ(send("event-2").verdict, Verdict::delivered);
  EXPECT_EQ(NatsPeer(server.url()).stored_ids(topic), (std::vector<std::string>{"event-1", "event-2"}));
}

TEST_F(NatsBusTest, MoreEventsAtOnceThanAllowedAreRetried) {
  NatsBusOptions chosen = options();
  chosen.in_flight_max = 10;
  open(chosen);
  int delivered = 0, retried = 0;
  for (int i = 0; i < 15; ++i)
    bus->send(make_message(std::to_string(i)), [&](const Outcome& outcome) {
      delivered += outcome.verdict == Verdict::delivered;
      retried += outcome.verdict == Verdict::retry;
    });
  while (bus->in_flight() > 0) bus->poll(1s);
  EXPECT_EQ(delivered, 10);
  EXPECT_EQ(retried, 5);
}

TEST_F(NatsBusTest, AnEventThatIsTooLargeIsRefused) {
  NatsServer server("max_payload: 2000");
  open(bus_options(server.url(), topic));
  const Outcome outcome = send(make_message("event-1", "\"" + std::string(3000, 'x') + "\""));
  EXPECT_EQ(outcome.verdict, Verdict::refused);
  EXPECT_THAT(outcome.error, HasSubstr("max_payload"));
  EXPECT_EQ(send("event-2").verdict, Verdict::delivered);
}

TEST_F(NatsBusTest, AnEventThatMayNotBePublishedIsRefused) {
  NatsServer server(R"(authorization { users = [ { user: "app", password: "secret-word",
      permissions: { publish: { allow: ["$JS.API.>"] } } } ] })");
  NatsBusOptions chosen = bus_options(server.url(), topic);
  chosen.connection.user = "app";
  chosen.connection.password = "secret-word";
  open(chosen);
  const Outcome outcome = send("event-1");
  EXPECT_EQ(outcome.verdict, Verdict::refused);
  EXPECT_THAT(outcome.error, HasSubstr("does not let this user publish"));
}

TEST_F(NatsBusTest, AnIdThatWouldBreakTheHeaderIsRefused) {
  open(options());
  for (const std::string& id : {std::string("a\r\nX: 1"), std::string(), std::string(257, 'a')})
    EXPECT_EQ(send(id).verdict, Verdict::refused);
}

TEST_F(NatsBusTest, AStreamThatExistsIsNeverChangedAndOneThatWouldLoseIsNotUsed) {
  NatsServer server;
  NatsPeer peer(server.url());
  peer.make_stream("skald-" + topic, {"skald." + topic + ".*"}, R"("retention":"workqueue")");
  const std::string before = peer.stream_config(topic);
  open(bus_options(server.url(), topic));
  std::optional<Outcome> result;
  bus->send(make_message("event-1"), [&](Outcome outcome) { result = std::move(outcome); });
  while (log.lines().empty()) bus->poll(1s);
  clock.advance(5s);
  while (!result) bus->poll(0s);
  EXPECT_EQ(result->verdict, Verdict::retry);
  EXPECT_THAT(result->error, HasSubstr("its retention is not 'limits'"));
  EXPECT_EQ(peer.stream_config(topic), before);
}

TEST_F(NatsBusTest, OptionsThatCannotWorkAreRefusedWithoutTheirSecrets) {
  const auto error = [&](auto change) -> std::string {
    NatsBusOptions chosen = bus_options("nats://127.0.0.1:4222", topic);
    change(chosen);
    try {
      open(chosen);
    } catch (const Invalid& invalid) {
      return invalid.what();
    }
    return "accepted";
  };
  EXPECT_THAT(error([](auto& o) { o.connection.urls = {"http://a"}; }), HasSubstr("nats:// or tls://"));
  EXPECT_THAT(error([](auto& o) { o.connection.urls.clear(); }), HasSubstr("needs the URL"));
  const std::string with_password = error([](auto& o) { o.connection.urls = {"nats://me:hidden@a:1"}; });
  EXPECT_THAT(with_password, HasSubstr("must not carry credentials"));
  EXPECT_THAT(with_password, ::testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(error([](auto& o) { o.connection.user = "me"; }), HasSubstr("belong together"));
  EXPECT_THAT(error([](auto& o) { o.connection.token = "t", o.connection.credentials_file = "f"; }),
              HasSubstr("one way to authenticate"));
  EXPECT_THAT(error([](auto& o) { o.connection.tls.ca_file = "/no/such/file"; }), HasSubstr("cannot be read"));
  EXPECT_THAT(error([](auto& o) { o.stream.topic = "a.b"; }), HasSubstr("letters, digits"));
  EXPECT_THAT(error([](auto& o) { o.stream.dedupe_window = 1min; }), HasSubstr("2 minutes"));
}

}  // namespace
}  // namespace skald::test
