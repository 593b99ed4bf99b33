// The bus to JetStream, against real servers.
#include <gmock/gmock.h>

#include <map>
#include <optional>

#include "bus/nats/nats_fixture.h"
#include "conformance/bus_conformance.h"
#include "fault_proxy/fault_proxy.h"
#include "skald/error.h"
#include "skald/jetstream.h"

namespace skald::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

JetStreamBusOptions bus_to(const std::string& url, const std::string& stream) {
  return {.stream = {.nats = {.urls = {url}}, .name = stream, .accept_unsynced = true}, .subject_prefix = stream + "."};
}

// The server leads what is published to gate.* past the stream to the harness, which notes it and either answers itself
// or hands it to the stream.
class JetStreamHarness {
 public:
  JetStreamHarness() : server_("mappings = { \"gate.*\": \"gated.$1\" }"), gate_(server_.url()) {
    gate_.make_stream("gate", "stored.*");
    gate_.subscribe("gated.*", [this](natsMsg* message) { pass(message); });
    JetStreamBusOptions options = bus_to(server_.url(), "gate");
    options.subject = [](const Message&) { return "gate.x"; };
    bus_ = jetstream_bus(scene_.env, options);
  }
  ~JetStreamHarness() { gate_.close(); }

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
      const std::size_t data = body.find("\"data\":") + 7;
      arrivals_.push_back({id, body.substr(data, body.size() - data - 1), body});
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
  std::unique_ptr<Bus> bus_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(JetStream, BusConformance, JetStreamHarness);

class JetStreamBusTest : public ::testing::Test, protected Scene {
 protected:
  void open(JetStreamBusOptions chosen) { bus = jetstream_bus(env, std::move(chosen)); }
  void open(const std::string& url) { open(bus_to(url, stream)); }
  void poll_until_ready() {
    while (!bus->is_ready()) bus->poll(1s);
  }

  Outcome send(Message message) {
    std::optional<Outcome> result;
    bus->send(std::move(message), [&](Outcome outcome) { result = std::move(outcome); });
    while (!result) bus->poll(1s);
    return *result;
  }
  Outcome send(const std::string& id) { return send(make_message(id)); }
  Outcome send_as(const std::string& type) {
    Message message = make_message("event-" + std::to_string(++sent_as));
    message.event.type = type;
    return send(message);
  }
  void expect_cut_off(const Outcome& outcome) {
    EXPECT_EQ(outcome.verdict, Verdict::retry) << outcome.error;
    EXPECT_TRUE(outcome.at_once) << outcome.error;
    EXPECT_FALSE(bus->is_ready());
  }

  const std::string stream = unused_topic();
  int sent_as = 0;
  std::unique_ptr<Bus> bus;
};

TEST_F(JetStreamBusTest, AnEventIsOneMessageWithItsIdAndItsEnvelope) {
  NatsPeer peer(shared_nats_url());
  peer.make_stream(stream, stream + ".>");
  open(shared_nats_url());
  const Message message = make_message("event-1");
  EXPECT_EQ(send(message).verdict, Verdict::delivered);
  EXPECT_EQ(send(message).verdict, Verdict::delivered);  // a duplicate is an acknowledgement
  const auto stored = peer.stored(stream);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].subject, stream + ".donation.accepted");
  EXPECT_EQ(stored[0].id, "event-1");
  EXPECT_EQ(stored[0].body, cloud_event(message));
}

TEST_F(JetStreamBusTest, ManyAtOnceAreStoredInTheOrderOfSending) {
  NatsPeer peer(shared_nats_url());
  peer.make_stream(stream, stream + ".>");
  open(shared_nats_url());
  std::vector<std::string> sent;
  for (int i = 0; i < 200; ++i) {
    sent.push_back("event-" + std::to_string(i));
    bus->send(make_message(sent.back()),
              [](const Outcome& outcome) { EXPECT_EQ(outcome.verdict, Verdict::delivered); });
  }
  while (bus->in_flight() > 0) bus->poll(1s);
  EXPECT_EQ(peer.stored_ids(stream), sent);
}

TEST_F(JetStreamBusTest, AFullStreamIsTheStateOfTheBusAndNoEventsFault) {
  NatsPeer peer(shared_nats_url());
  // What is sent again is no duplicate to it any more.
  peer.make_stream(stream, stream + ".>",
                   R"("max_msgs":3,"discard":"new","retention":"workqueue","duplicate_window":100000000)");
  open(shared_nats_url());
  std::map<std::string, int> cut_off;
  std::vector<std::string> left;
  for (int i = 0; i < 12; ++i) left.push_back("event-" + std::to_string(i));
  const auto send_left = [&] {
    for (const std::string& id : std::exchange(left, {}))
      bus->send(make_message(id), [&, id](const Outcome& outcome) {
        if (outcome.verdict == Verdict::delivered) return;
        expect_cut_off(outcome);
        ++cut_off[id];
        left.push_back(id);
      });
    while (bus->in_flight() > 0) bus->poll(1s);
  };
  poll_until_ready();
  send_left();
  EXPECT_EQ(left.size(), 9u);
  // A reader makes room for one after the other.
  std::size_t read = 0;
  while (!bus->is_ready()) {
    if (read < 9 && number_in(peer.do_it("STREAM.INFO." + stream), {"state", "messages"}) == 3) {
      peer.do_it("STREAM.PURGE." + stream, R"({"keep":2})");
      ++read;
    }
    clock.advance(300ms);
    bus->poll(10ms);
  }
  send_left();
  EXPECT_TRUE(left.empty());
  for (const auto& [id, times] : cut_off) EXPECT_EQ(times, 1) << id;  // however slowly there was room
  EXPECT_EQ(peer.stored_ids(stream).size() + read, 12u);
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("maximum messages exceeded")));
}

TEST_F(JetStreamBusTest, WhatCannotGetBetterIsRefusedWithASentence) {
  NatsServer server(R"(max_payload = 3000
      authorization { users = [ { user: app, password: secret-word,
        permissions: { publish: { deny: ["*.secret.>"] } } }, { user: peer, password: p } ] })");
  NatsPeer peer("nats://peer:p@127.0.0.1:" + std::to_string(server.port()));
  peer.make_stream(stream, stream + ".*.known");
  peer.make_stream("other", stream + ".elsewhere");
  JetStreamBusOptions chosen = bus_to(server.url(), stream);
  chosen.stream.nats.user = "app";
  chosen.stream.nats.password = "secret-word";
  open(chosen);
  poll_until_ready();
  const auto expect_refused = [&](const Outcome& outcome, const char* why) {
    EXPECT_EQ(outcome.verdict, Verdict::refused) << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr(why));
    EXPECT_TRUE(bus->is_ready());
  };
  Message large = make_message("large", "\"" + std::string(4000, 'x') + "\"");
  large.event.type = "is.known";
  expect_refused(send(large), "raise its max_payload");
  expect_refused(send_as("secret.known"), "does not let this user publish");
  expect_refused(send_as("unknown"), "does not take the subject");
  expect_refused(send_as("elsewhere"), "expected stream does not match");
  for (const char* type : {"a b", "a.*", "a.>", "a..b", "a."}) expect_refused(send_as(type), "the event's subject");
  for (const std::string& id : {std::string("a\r\nX: 1"), std::string(), std::string(257, 'a')})
    expect_refused(send(id), "the event's id");
  EXPECT_EQ(send_as("is.known").verdict, Verdict::delivered);
}

TEST_F(JetStreamBusTest, AnEventMustNotBecomeACommandToTheServer) {
  JetStreamBusOptions chosen = bus_to(shared_nats_url(), stream);
  chosen.subject = [](const Message& message) { return "$JS.API." + message.event.type; };
  open(chosen);
  EXPECT_EQ(send("event-1").verdict, Verdict::refused);
}

TEST_F(JetStreamBusTest, AnEventWhoseAcknowledgementIsLostIsCutOffAndStoredOnce) {
  NatsServer server;
  NatsPeer(server.url()).make_stream(stream, stream + ".>");
  FaultProxy proxy("127.0.0.1", server.port());
  open("nats://127.0.0.1:" + std::to_string(proxy.port()));
  EXPECT_EQ(send("event-0").verdict, Verdict::delivered);
  proxy.at_message("event-1", FaultProxy::Fault::lose_answer);
  expect_cut_off(send("event-1"));
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  EXPECT_THAT(NatsPeer(server.url()).stored_ids(stream), ElementsAre("event-0", "event-1"));
}

TEST_F(JetStreamBusTest, NoAnswerInTimeIsTheStateOfTheBus) {
  NatsServer server;
  NatsPeer(server.url()).make_stream(stream, stream + ".>");
  FaultProxy proxy("127.0.0.1", server.port());
  open("nats://127.0.0.1:" + std::to_string(proxy.port()));
  EXPECT_EQ(send("event-0").verdict, Verdict::delivered);
  proxy.hold(FaultProxy::Direction::to_client);
  std::optional<Outcome> result;
  bus->send(make_message("event-1"), [&](Outcome outcome) { result = std::move(outcome); });
  bus->poll(0s);
  proxy.wait_for_held(FaultProxy::Direction::to_client);
  clock.advance(5s);
  while (!result) bus->poll(0s);
  expect_cut_off(*result);
  EXPECT_THAT(result->error, HasSubstr("no answer in time"));
  proxy.release(FaultProxy::Direction::to_client);
  clock.advance(5s);
  poll_until_ready();
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  EXPECT_THAT(NatsPeer(server.url()).stored_ids(stream), ElementsAre("event-0", "event-1"));
}

TEST_F(JetStreamBusTest, AServerThatIsAwayDelaysAndIsUsedAgainWhenItComesBack) {
  NatsServer server;
  NatsPeer(server.url()).make_stream(stream, stream + ".>");
  open(server.url());
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  server.stop_cleanly();
  while (bus->is_ready()) bus->poll(1s);
  std::optional<Outcome> away;
  bus->send(make_message("event-2"), [&](Outcome outcome) { away = std::move(outcome); });
  bus->poll(0s);
  EXPECT_FALSE(away);
  clock.advance(5s);
  while (!away) bus->poll(0s);
  expect_cut_off(*away);
  EXPECT_THAT(away->error, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
  server.start();
  EXPECT_EQ(send("event-2").verdict, Verdict::delivered);
  EXPECT_THAT(NatsPeer(server.url()).stored_ids(stream), ElementsAre("event-1", "event-2"));
}

TEST_F(JetStreamBusTest, AfterAServerIsWipedNothingGoesOutUntilSomebodyMakesTheStream) {
  NatsServer server;
  NatsPeer(server.url()).make_stream(stream, stream + ".>");
  open(server.url());
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  server.stop();
  server.store().empty();
  server.start();
  while (log.lines().empty()) bus->poll(1s);
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("does not exist")));
  std::optional<Outcome> held;
  bus->send(make_message("event-2"), [&](Outcome outcome) { held = std::move(outcome); });
  clock.advance(6s);
  while (!held) bus->poll(1s);
  expect_cut_off(*held);
  EXPECT_THAT(held->error, HasSubstr("does not exist"));
  NatsPeer peer(server.url());
  peer.make_stream(stream, stream + ".>");
  clock.advance(6s);
  poll_until_ready();
  EXPECT_EQ(send("event-2").verdict, Verdict::delivered);
  EXPECT_THAT(peer.stored_ids(stream), ElementsAre("event-2"));
}

TEST_F(JetStreamBusTest, AStreamThatGoesAwayUnderIt) {
  NatsPeer peer(shared_nats_url());
  peer.make_stream(stream, stream + ".>");
  open(shared_nats_url());
  EXPECT_EQ(send("event-1").verdict, Verdict::delivered);
  peer.do_it("STREAM.DELETE." + stream);
  expect_cut_off(send("event-2"));
  peer.make_stream(stream, stream + ".>");
  clock.advance(5s);
  poll_until_ready();
  EXPECT_EQ(send("event-2").verdict, Verdict::delivered);
  EXPECT_THAT(peer.stored_ids(stream), ElementsAre("event-2"));
}

TEST_F(JetStreamBusTest, OptionsThatCannotWorkAreRefused) {
  const auto error = [&](auto change) -> std::string {
    JetStreamBusOptions chosen = bus_to("nats://127.0.0.1:4222", stream);
    change(chosen);
    try {
      open(chosen);
    } catch (const Invalid& invalid) {
      return invalid.what();
    }
    return "accepted";
  };
  EXPECT_THAT(error([](auto& o) { o.stream.nats.urls = {"http://a"}; }), HasSubstr("nats:// or tls://"));
  EXPECT_THAT(error([](auto& o) { o.stream.nats.urls.clear(); }), HasSubstr("needs the URL"));
  const std::string with_password = error([](auto& o) { o.stream.nats.urls = {"nats://me:hidden@a:1"}; });
  EXPECT_THAT(with_password, HasSubstr("must not carry credentials"));
  EXPECT_THAT(with_password, Not(HasSubstr("hidden")));
  EXPECT_THAT(error([](auto& o) { o.stream.nats.user = "me"; }), HasSubstr("belong together"));
  EXPECT_THAT(error([](auto& o) { o.stream.name = "a.b"; }), HasSubstr("letters, digits"));
  EXPECT_THAT(error([](auto& o) { o.stream.make = JetStream::New{.subjects = {}}; }), HasSubstr("needs subjects"));
  EXPECT_THAT(error([](auto& o) { o.ack_timeout = 0ms; }), HasSubstr("above zero"));
}

}  // namespace
}  // namespace skald::test
