// A server that comes back with less than it had acknowledged, or with another
// idea of it.
#include <gmock/gmock.h>

#include <future>
#include <memory>
#include <optional>

#include "bus/nats/nats_consumer.h"
#include "bus/nats/nats_inbox_fixture.h"
#include "fault_proxy/fault_proxy.h"

namespace skald::test {
namespace {

class NatsLossTest : public ::testing::Test, protected Scene {
 protected:
  // All of the outbox is kept, and given back at each loss that is reported.
  void keep(int begin, int end) {
    given_back = {begin, end};
    sender = std::make_unique<NatsSender>(env, server.url(), kTopic, [this] {
      ++losses;
      at_loss = NatsPeer(server.url()).stored_ids(kTopic).size();
      sender->bus->republish(NatsSender::kept(given_back.first, given_back.second));
      sender->bus->resume();
    });
  }
  void open_inlet() { inlet = inbox.open(env, server.url(), kTopic, "reader", kEveryPartition); }
  void wait_until_down() {
    while (sender->bus->is_ready()) sender->bus->poll(1s);
  }
  std::vector<std::string> ids(int begin, int end) {
    std::vector<std::string> out;
    for (int number = begin; number < end; ++number) out.push_back("event-" + std::to_string(number));
    return out;
  }

  // Lands everything, then lets the server come back with the messages that it
  // had at save(), and with its consumers where they are now.
  void fall_behind_the_consumers(std::size_t landed) {
    inbox.poll_until(*inlet, landed);
    inbox.settle(*inlet, NatsPeer(server.url()), kTopic);
    server.stop_cleanly();
    server.store().restore_messages(nats_stream(kTopic));
    wait_until_down();
    while (inlet->is_up()) inlet->poll(1s);
    server.start();
    NatsPeer peer(server.url());
    const auto stream = peer.ask("STREAM.INFO." + nats_stream(kTopic));
    const auto consumer = peer.ask("CONSUMER.INFO." + nats_stream(kTopic) + "." +
                                   nats_durable("reader", partition_of(NatsSender::key(0))));
    ASSERT_GT(number_in(consumer, {"ack_floor", "stream_seq"}), number_in(stream, {"state", "last_seq"}));
    ASSERT_EQ(number_in(consumer, {"num_ack_pending"}), 0u);
  }

  static constexpr char kTopic[] = "loss";
  NatsServer server;
  std::pair<int, int> given_back{0, 0};
  std::unique_ptr<NatsSender> sender;
  Inbox inbox;
  std::unique_ptr<NatsInlet> inlet;
  int losses = 0;
  std::size_t at_loss = 0;  // messages in the stream when the loss was reported
};

TEST_F(NatsLossTest, TheFirstServerOfAProcessIsUnknownAndReported) {
  keep(0, 0);
  sender->send(0, 1);
  EXPECT_EQ(losses, 1);
  EXPECT_EQ(at_loss, 0u);
}

TEST_F(NatsLossTest, ARestartThatLostNothingIsProvedAndNotReported) {
  keep(0, 0);
  sender->send_one_by_one(0, 20);
  server.stop();
  wait_until_down();
  server.start();
  sender->send_one_by_one(20, 30);
  EXPECT_EQ(losses, 1);
  EXPECT_EQ(NatsPeer(server.url()).stored_ids(kTopic), ids(0, 30));
}

TEST_F(NatsLossTest, AConnectionThatBreaksToTheSameServerIsNotReported) {
  FaultProxy proxy("127.0.0.1", server.port());
  sender = std::make_unique<NatsSender>(env, "nats://127.0.0.1:" + std::to_string(proxy.port()), kTopic, [this] {
    ++losses;
    sender->bus->resume();
  });
  sender->send(0, 1);
  proxy.cut_all();
  wait_until_down();
  sender->send(1, 2);
  EXPECT_EQ(losses, 1);
}

TEST_F(NatsLossTest, AStoreThatFellBackIsFilledAgainBeforeAnythingNewIsPublished) {
  keep(0, 0);
  open_inlet();
  sender->send(0, 20);
  inbox.poll_until(*inlet, 20);
  server.stop();
  server.store().save();
  server.start();
  sender->send(20, 50);
  inbox.poll_until(*inlet, 50);
  server.stop();
  server.store().restore();
  given_back = {0, 50};
  wait_until_down();
  server.start();
  sender->send(50, 60);
  EXPECT_EQ(losses, 2);
  EXPECT_EQ(at_loss, 20u);
  const auto stored = NatsPeer(server.url()).stored_ids(kTopic);
  EXPECT_EQ(std::set<std::string>(stored.begin(), stored.end() - 10).size(), 50u);  // all of the old ones first
  EXPECT_EQ(std::set<std::string>(stored.end() - 10, stored.end()).size(), 10u);
  inbox.poll_until(*inlet, 60);
  EXPECT_EQ(inbox.by_key(), sender->all());
}

TEST_F(NatsLossTest, WhatWasLostBeforeItWasLandedComesInOrder) {
  keep(0, 0);
  sender->send(0, 20);
  server.stop();
  server.store().save();
  server.start();
  sender->send(20, 50);
  server.stop();
  server.store().restore();
  given_back = {0, 50};
  wait_until_down();
  server.start();
  sender->send(50, 60);
  open_inlet();
  inbox.poll_until(*inlet, 60);
  EXPECT_EQ(inbox.by_key(), sender->all());
}

// The case that was seen in the field: the consumer's position was synced, the
// messages were not. Numbers that it believes to have delivered are used again.
TEST_F(NatsLossTest, AConsumerAheadOfItsStreamStillGetsWhatIsNew) {
  keep(0, 0);
  open_inlet();
  sender->send(0, 20);
  inbox.poll_until(*inlet, 20);
  server.stop_cleanly();
  server.store().save();
  server.start();
  sender->send(20, 50);
  fall_behind_the_consumers(50);
  // Nothing is given back: the new ones take the numbers of the lost ones.
  sender->send(50, 70);
  inbox.poll_until(*inlet, 70);
  EXPECT_EQ(inbox.by_key(), sender->all());
}

// As above, with all of it happening while no inlet runs: by then the numbers may
// have been used up to where the consumer believes to be, and nothing looks wrong.
TEST_F(NatsLossTest, AConsumerThatFellAheadWhileNobodyUsedItIsMadeAnew) {
  keep(0, 0);
  open_inlet();
  sender->send(0, 5);
  server.stop_cleanly();
  server.store().save();
  server.start();
  sender->send(5, 40);
  fall_behind_the_consumers(40);
  inlet.reset();
  sender->send(40, 90);
  open_inlet();
  inbox.poll_until(*inlet, 90);
  EXPECT_EQ(inbox.by_key(), sender->all());
}

TEST_F(NatsLossTest, ARestartOfTheServerLosesNothingForTheInlet) {
  keep(0, 0);
  open_inlet();
  sender->send(0, 20);
  inbox.poll_until(*inlet, 20);
  server.restart();
  sender->send(20, 40);
  inbox.poll_until(*inlet, 40);
  EXPECT_EQ(inbox.by_key(), sender->all());
  EXPECT_EQ(inbox.duplicates(), 0);  // nothing was lost, and that is proved
}

// Given again in another order, the last one that was landed may be where it was before.
TEST_F(NatsLossTest, WhatTookItsOldPlaceAgainMayHaveOthersInFrontOfIt) {
  keep(0, 0);
  open_inlet();
  sender->send(0, 1);
  inbox.poll_until(*inlet, 1);
  server.stop_cleanly();
  server.store().save();
  server.start();
  const auto publish = [&](int number) {
    const Message message = numbered(number, "key-0");
    NatsPeer(server.url())
        .publish(nats_subject(kTopic, partition_of("key-0")), cloud_event(message), nullptr, message.event.id.c_str());
  };
  publish(1);
  publish(2);
  inbox.poll_until(*inlet, 3);
  server.stop();
  server.store().restore();
  while (inlet->is_up()) inlet->poll(1s);
  server.start();
  publish(3);
  publish(2);
  inbox.poll_until(*inlet, 4);
  EXPECT_EQ(inbox.by_key().at("key-0").back(), "event-3");
}

TEST_F(NatsLossTest, AStreamThatWasDeletedIsMadeAgainAndReported) {
  keep(0, 0);
  sender->send(0, 5);
  NatsPeer(server.url()).ask("STREAM.DELETE." + nats_stream(kTopic));
  given_back = {0, 5};
  sender->send(5, 6);
  EXPECT_EQ(losses, 2);
  EXPECT_EQ(NatsPeer(server.url()).stored_ids(kTopic).size(), 6u);
}

TEST_F(NatsLossTest, NothingIsPublishedUntilTheKeeperHasGivenEverything) {
  sender = std::make_unique<NatsSender>(env, server.url(), kTopic, [this] { ++losses; });
  NatsBus* const bus = sender->bus.get();
  std::optional<Outcome> result;
  bus->send(make_message("new"), [&](Outcome outcome) { result = std::move(outcome); });
  while (!bus->is_held()) bus->poll(1s);
  const auto kept = NatsSender::kept(0, 10);
  bus->republish(std::span(kept).first(4));
  while (bus->republishing() > 0) bus->poll(1s);
  bus->poll(0s);
  bus->republish(std::span(kept).subspan(4));
  while (bus->republishing() > 0) bus->poll(1s);
  EXPECT_FALSE(result);
  bus->resume();
  while (!result) bus->poll(1s);
  EXPECT_EQ(losses, 1);
  const auto stored = NatsPeer(server.url()).stored_ids(kTopic);
  EXPECT_EQ(stored.size(), 11u);
  EXPECT_EQ(stored.back(), "new");
}

TEST_F(NatsLossTest, AConnectionThatBreaksWhileEventsAreSentAgainBeginsItAgain) {
  sender = std::make_unique<NatsSender>(env, server.url(), kTopic, [this] { ++losses; });
  NatsBus& bus = *sender->bus;
  while (!bus.is_held()) bus.poll(1s);
  const auto kept = NatsSender::kept(0, 10);
  bus.republish(kept);
  server.stop();
  while (bus.is_held()) bus.poll(1s);
  EXPECT_EQ(bus.republishing(), 0u);
  bus.republish(kept);  // too late, and ignored
  EXPECT_EQ(bus.republishing(), 0u);
  server.start();
  while (!bus.is_held()) bus.poll(1s);
  EXPECT_EQ(losses, 2);
}

// While the stream is gone somebody listens on one of its subjects, and what was
// asked there is answered only when everything is being sent again.
TEST_F(NatsLossTest, ALateAnswerEndsNothingOfWhatIsSentAgainSince) {
  sender = std::make_unique<NatsSender>(env, server.url(), kTopic, [this] { ++losses; });
  NatsBus& bus = *sender->bus;
  while (!bus.is_held()) bus.poll(1s);
  NatsPeer peer(server.url()), listener(server.url());
  peer.ask("STREAM.DELETE." + nats_stream(kTopic));
  std::promise<std::string> asked;
  listener.subscribe(nats_subject(kTopic, partition_of(NatsSender::key(0))),
                     [&](natsMsg* message) { asked.set_value(natsMsg_GetReply(message)); });
  bus.republish(NatsSender::kept(0, 2));  // the second one finds nobody
  while (losses < 2) bus.poll(1s);
  const std::string late = asked.get_future().get();
  listener.close();

  const std::vector<Message> kept{numbered(0, NatsSender::key(0)), numbered(1, NatsSender::key(0)),
                                  numbered(2, NatsSender::key(0))};
  peer.publish(late, R"({"error":{"code":400,"description":"late"}})");  // comes before any other answer
  bus.republish(kept);
  while (bus.republishing() == kept.size()) bus.poll(1s);
  ASSERT_THAT(log.lines(), ::testing::Not(::testing::Contains(::testing::HasSubstr("refuses it now"))));
  bus.resume();
  while (!bus.is_ready()) bus.poll(1s);
  EXPECT_EQ(peer.stored_ids(kTopic), ids(0, 3));
}

TEST_F(NatsLossTest, AKeeperMayHoldTheBusByItself) {
  keep(0, 0);
  sender->bus->hold();  // before it is connected: asked for as any loss
  sender->send(0, 1);
  EXPECT_EQ(losses, 1);
  given_back = {1, 3};
  sender->bus->hold();
  EXPECT_FALSE(sender->bus->is_ready());
  sender->send(3, 4);  // not before it is known what the stream has, and that is asked for
  EXPECT_EQ(sender->bus->last_kept().at(partition_of(NatsSender::key(0))), "event-0");
  EXPECT_EQ(losses, 2);
  EXPECT_EQ(NatsPeer(server.url()).stored_ids(kTopic).back(), "event-3");
  EXPECT_EQ(NatsPeer(server.url()).stored_ids(kTopic).size(), 4u);
}

TEST_F(NatsLossTest, AHoldOutlivesTheConnection) {
  FaultProxy proxy("127.0.0.1", server.port());
  sender = std::make_unique<NatsSender>(env, "nats://127.0.0.1:" + std::to_string(proxy.port()), kTopic, [this] {
    ++losses;
    sender->bus->resume();
  });
  NatsBus& bus = *sender->bus;
  sender->send(0, 1);
  bus.hold();
  proxy.cut_all();
  while (bus.is_held()) bus.poll(1s);
  sender->send(1, 2);
  EXPECT_EQ(losses, 2);  // the same server, and yet the keeper is asked
}

// Only what is younger than the window may be wrong after a restart; what this
// consumer has not seen yet may be older by far.
TEST_F(NatsLossTest, AConsumerThatWasAwayForLongerThanTheWindowMissesNothing) {
  keep(0, 0);
  const int partition = partition_of(NatsSender::key(0));
  const NatsConsumer::Names names{nats_stream(kTopic), "late", nats_subject(kTopic, partition)};
  std::vector<std::string> all;
  for (int number = 0; number < 30; ++number)
    if (partition_of(NatsSender::key(number)) == partition)
      all.push_back(cloud_event(numbered(number, NatsSender::key(number))));
  ASSERT_GT(all.size(), 1u);
  sender->send(0, 1);
  std::vector<std::string> seen;
  std::optional<NatsConsumer> consumer;
  NatsLink link(env, bus_options(server.url(), kTopic).connection,
                {.up = [&] { consumer->on_up(); },
                 .down = [&] { consumer->on_down(); },
                 .message =
                     [&](const NatsMessage& message) {
                       if (consumer->accept(message)) seen.push_back(std::string(message.body()));
                     }});
  // A window that reaches to the last message only, so that all others are older than it.
  consumer.emplace(env, link, names, 0s);
  consumer->start();
  while (seen.empty()) link.poll(10ms, {}), consumer->go_on(1);  // fetched, never acknowledged
  sender->send_one_by_one(1, 30);
  server.restart();
  while (link.is_up()) link.poll(1s, {});
  seen.clear();
  const Instant end = env.clock.steady() + 20s;
  while (seen.size() < all.size() && env.clock.steady() < end) link.poll(10ms, {}), consumer->go_on(100);
  EXPECT_EQ(seen, all);
}

}  // namespace
}  // namespace skald::test
