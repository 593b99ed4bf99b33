#include "bus/nats/nats_inlet.h"

#include <gmock/gmock.h>

#include <memory>

#include "bus/nats/nats_inbox_fixture.h"
#include "conformance/bus_conformance.h"
#include "skald/error.h"

namespace skald::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NatsInletTest : public ::testing::Test, protected Scene {
 protected:
  const std::string url = shared_nats_url();
  const std::string topic = unused_topic();
  Inbox inbox;
  NatsSender sender{env, url, topic};

  std::unique_ptr<NatsInlet> open(std::uint64_t mask = kEveryPartition, const std::string& service = "reader") {
    return inbox.open(env, url, topic, service, mask);
  }
};

TEST_F(NatsInletTest, EventsAreLandedOnceAndInTheOrderOfTheirPartition) {
  const auto inlet = open();
  const auto sent = sender.send(0, 300);
  inbox.poll_until(*inlet, 300);
  EXPECT_EQ(inbox.by_key(), sent);
  EXPECT_EQ(inbox.duplicates(), 0);
}

TEST_F(NatsInletTest, WhatWasAcknowledgedIsNotLandedAgain) {
  sender.send(0, 50);
  {
    const auto inlet = open();
    inbox.poll_until(*inlet, 50);
    inbox.settle(*inlet, NatsPeer(url), topic);
  }
  const auto inlet = open();
  sender.send(50, 60);
  inbox.poll_until(*inlet, 60);
  EXPECT_EQ(inbox.duplicates(), 0);
}

TEST_F(NatsInletTest, OnlyTheGivenPartitionsAreLandedUntilOthersAreGiven) {
  sender.send(0, 100);
  const std::uint64_t mine = 0x5555'5555'5555'5555;
  const auto inlet = open(mine);
  const auto has = [&](std::uint64_t mask) {
    std::size_t count = 0;
    for (int i = 0; i < 100; ++i) count += mask >> partition_of(NatsSender::key(i)) & 1;
    return count;
  };
  inbox.poll_until(*inlet, has(mine));
  for (const auto& [key, ids] : inbox.by_key()) EXPECT_TRUE(mine >> partition_of(key) & 1) << key;
  inlet->set_partitions(~mine);
  inbox.poll_until(*inlet, 100);
  EXPECT_EQ(inbox.by_key(), sender.all());
}

TEST_F(NatsInletTest, EveryServiceGetsEveryEvent) {
  sender.send(0, 20);
  Inbox other;
  const auto inlet = open();
  const auto second = other.open(env, url, topic, "notifier", kEveryPartition);
  inbox.poll_until(*inlet, 20);
  other.poll_until(*second, 20);
  EXPECT_EQ(other.by_key(), inbox.by_key());
}

TEST_F(NatsInletTest, EventsWaitWhileTheDatabaseIsAway) {
  const auto inlet = open();
  inbox.fail_next = 3;
  const auto sent = sender.send(0, 40);
  inbox.poll_until(*inlet, 40);
  EXPECT_EQ(inbox.fail_next, 0);
  EXPECT_EQ(inbox.by_key(), sent);
  EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("the database is away")));
}

TEST_F(NatsInletTest, ACrashBetweenLandingAndAcknowledgingLandsAgainAndLosesNothing) {
  sender.send(0, 30);
  auto inlet = open();
  inbox.crash_after_commit = true;
  while (inbox.size() == 0) inlet->poll(1s);
  const std::size_t landed = inbox.size();
  inlet.reset();
  inbox.crash_after_commit = false;
  inlet = open();
  while (inbox.size() < 30 || inbox.duplicates() < static_cast<int>(landed)) inlet->poll(1s);
  EXPECT_EQ(inbox.by_key(), sender.all());
}

TEST_F(NatsInletTest, EventsThatWereFetchedByADeadProcessComeBeforeLaterOnes) {
  sender.send_one_by_one(0, 30);
  auto inlet = open();
  inbox.fail_next = 1'000'000;
  while (inlet->unlanded() < 30) inlet->poll(1s);
  inlet.reset();
  inbox.fail_next = 0;
  sender.send(30, 60);
  inlet = open();
  inbox.poll_until(*inlet, 60);
  EXPECT_EQ(inbox.by_key(), sender.all());
  // One of them may have been what it died of. Later ones may be among them: the server hears of the
  // death when it reads the socket's end, and may have sent the dead process some of those before.
  for (const Message& message : NatsSender::kept(0, 30))
    EXPECT_TRUE(inbox.left_by_another().contains(message.event.id)) << message.event.id;
}

TEST_F(NatsInletTest, WhatIsLandedIsAcknowledgedOnceForMany) {
  const auto inlet = open();
  sender.send_one_by_one(0, 30);
  inbox.poll_until(*inlet, 30);
  const auto left = [&] { return inbox.unacknowledged(NatsPeer(url), topic); };
  EXPECT_EQ(left(), 30u);
  while (left() > 0) inlet->poll(1s);
  sender.send_one_by_one(30, 40);
  inbox.poll_until(*inlet, 40);
  inlet->set_partitions(0);  // the end of a graceful stop
  while (left() > 0) inlet->poll(1ms);
}

TEST_F(NatsInletTest, APartitionThatWasGivenAwayIsTakenOverInOrder) {
  sender.send_one_by_one(0, 30);
  const auto first = open();
  inbox.fail_next = 1'000'000;
  while (first->unlanded() < 30) first->poll(1s);
  first->set_partitions(0);
  EXPECT_EQ(first->unlanded(), 0u);
  inbox.fail_next = 0;
  const auto second = open();
  inbox.poll_until(*second, 30);
  // The first one's requests still wait at the server, and must not take what comes now.
  sender.send(30, 60);
  inbox.poll_until(*second, 60);
  EXPECT_EQ(inbox.by_key(), sender.all());
}

TEST_F(NatsInletTest, WhatIsNoCloudEventIsToldOfAndBlocksNothing) {
  sender.send(0, 1);
  NatsPeer(url).publish(nats_subject(topic, partition_of(NatsSender::key(0))), "nonsense");
  sender.send(NatsSender::kKeys, NatsSender::kKeys + 1);  // the same key
  const auto inlet = open();
  inbox.poll_until(*inlet, 2);
  ASSERT_EQ(inbox.unreadable.size(), 1u);
  EXPECT_THAT(inbox.unreadable[0], HasSubstr("nonsense: it is not JSON"));
  inbox.settle(*inlet, NatsPeer(url), topic);
}

TEST_F(NatsInletTest, WhatCanNeverBeLandedHoldsUpNobody) {
  inbox.refused = "event-1";
  sender.send(0, 30);
  const auto inlet = open();
  for (int i = 0; i < 1000 && inbox.size() < 29; ++i) inlet->poll(10ms);
  EXPECT_EQ(inbox.size(), 29u);
  ASSERT_EQ(inbox.unreadable.size(), 1u);
  EXPECT_THAT(inbox.unreadable[0], HasSubstr("event-1"));
  EXPECT_THAT(inbox.unreadable[0], HasSubstr("it has no key"));
  inbox.settle(*inlet, NatsPeer(url), topic);
}

TEST_F(NatsInletTest, AnInletMayComeBeforeItsStream) {
  const std::string later = unused_topic();
  const auto inlet = inbox.open(env, url, later, "reader", kEveryPartition);
  for (int i = 0; i < 5; ++i) inlet->poll(10ms);
  NatsSender late(env, url, later);
  late.send(0, 10);
  inbox.poll_until(*inlet, 10);
  EXPECT_EQ(inbox.by_key(), late.all());
}

TEST_F(NatsInletTest, NoMoreIsFetchedThanAllowed) {
  sender.send_one_by_one(0, 500);
  NatsInletOptions options;
  options.connection.urls = {url};
  options.service = "small";
  options.topic = topic;
  options.in_flight_max = 64;
  std::size_t most = 0, landed = 0;
  NatsInlet inlet(
      env, options,
      [&](std::span<const Message> events) { most = std::max(most, inlet.unlanded()), landed += events.size(); },
      [](auto...) {});
  inlet.set_partitions(kEveryPartition);
  while (landed < 500) inlet.poll(1s);
  EXPECT_LE(most, 64u);
}

TEST_F(NatsInletTest, OptionsThatCannotWorkAreRefused) {
  NatsInletOptions options;
  options.connection.urls = {url};
  options.service = "a.b";
  options.topic = topic;
  EXPECT_THROW(NatsInlet(env, options, [](auto) {}, [](auto...) {}), Invalid);
  options.service = "a";
  options.window = 10s;
  EXPECT_THROW(NatsInlet(env, options, [](auto) {}, [](auto...) {}), Invalid);
}

}  // namespace
}  // namespace skald::test
