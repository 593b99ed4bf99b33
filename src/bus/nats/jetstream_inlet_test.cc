// The inlet from JetStream, against real servers.
#include "bus/nats/jetstream_inlet.h"

#include <gmock/gmock.h>

#include <optional>
#include <set>

#include "bus/nats/nats_fixture.h"
#include "conformance/bus_conformance.h"
#include "skald/error.h"

namespace skald::test {
namespace {

using ::testing::_;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr Duration kAckWait = 200ms;

// What an engine keeps of what is landed.
struct Landed {
  int fail_next = 0;
  std::string refused;  // the id of an event that can never be landed
  std::vector<std::string> ids, keys;
  std::vector<int> attempts;
  std::vector<std::string> set_aside;  // "SUBJECT BYTES: WHY"
  int repeats = 0;
  std::set<std::string> known = {};

  void land(std::span<const Message> events) {
    if (fail_next > 0) {
      --fail_next;
      throw std::runtime_error("the database is away");
    }
    for (const Message& message : events)
      if (message.event.id == refused) throw Invalid("INVALID_EVENT", "it cannot be landed");
    for (const Message& message : events) {
      if (!known.insert(message.event.id).second) {
        ++repeats;
        continue;
      }
      ids.push_back(message.event.id);
      keys.push_back(message.event.key);
      attempts.push_back(message.attempt);
    }
  }
};

class JetStreamInletTest : public ::testing::Test, protected Scene {
 protected:
  JetStreamInletOptions options(const std::string& server) const {
    return {.stream = {.nats = {.urls = {server}}, .name = stream, .accept_unsynced = true},
            .durable = "reader",
            .accept_late_repeats = true};
  }
  std::unique_ptr<JetStreamInlet> open(JetStreamInletOptions chosen, std::uint64_t mask = kAll) {
    auto inlet = std::make_unique<JetStreamInlet>(
        env, std::move(chosen), [this](auto events) { landed.land(events); },
        [this](auto subject, auto bytes, auto why) {
          landed.set_aside.push_back(std::string(subject) + " " + std::string(bytes) + ": " + std::string(why));
        },
        kAckWait);
    inlet->set_partitions(mask);
    return inlet;
  }
  std::unique_ptr<JetStreamInlet> open() { return open(options(url)); }

  void publish(NatsPeer& to, int begin, int end) {
    for (int i = begin; i < end; ++i)
      to.publish(stream + ".a", cloud_event(make_message("event-" + std::to_string(i))));
  }
  static std::vector<std::string> numbered(int begin, int end) {
    std::vector<std::string> out;
    for (int i = begin; i < end; ++i) out.push_back("event-" + std::to_string(i));
    return out;
  }
  void poll_until(Inlet& inlet, std::size_t count) {
    while (landed.ids.size() < count) inlet.poll(100ms);
  }
  std::int64_t unacknowledged() {
    return number_in(peer.do_it("CONSUMER.INFO." + stream + ".reader"), {"num_ack_pending"});
  }
  // Acknowledgements get there some time after they were sent.
  void poll_until_acknowledged(Inlet& inlet, std::int64_t position) {
    while (number_in(peer.do_it("CONSUMER.INFO." + stream + ".reader"), {"ack_floor", "stream_seq"}) < position)
      inlet.poll(1ms);
  }

  const std::string url = shared_nats_url(), stream = unused_topic();
  NatsPeer peer{url};
  Landed landed;
};

TEST_F(JetStreamInletTest, EventsAreLandedOnceInTheOrderOfTheStreamAndTheirPositionIsDurable) {
  peer.make_stream(stream, stream + ".>");
  publish(peer, 0, 300);
  {
    const auto inlet = open();
    poll_until(*inlet, 300);
    poll_until_acknowledged(*inlet, 300);
  }
  publish(peer, 300, 310);
  const auto inlet = open();
  poll_until(*inlet, 310);
  EXPECT_EQ(landed.ids, numbered(0, 310));
  EXPECT_EQ(landed.repeats, 0);
  EXPECT_THAT(landed.attempts, Each(1));
}

TEST_F(JetStreamInletTest, WhileTheyCannotBeLandedNothingIsAcknowledgedAndNoMoreIsTaken) {
  peer.make_stream(stream, stream + ".>");
  publish(peer, 0, 20);
  JetStreamInletOptions chosen = options(url);
  chosen.in_flight_max = 4;
  const auto inlet = open(chosen);
  landed.fail_next = 5;
  while (landed.fail_next > 0) {
    inlet->poll(10ms);
    clock.advance(1s);
    EXPECT_TRUE(landed.ids.empty());
  }
  EXPECT_EQ(unacknowledged(), 4);
  poll_until(*inlet, 20);
  EXPECT_EQ(landed.ids, numbered(0, 20));
}

TEST_F(JetStreamInletTest, WhatIsNoCloudEventOrCanNeverBeLandedIsSetAsideAndHoldsUpNobody) {
  peer.make_stream(stream, stream + ".>");
  publish(peer, 0, 1);
  peer.publish(stream + ".b", "not json");
  publish(peer, 1, 4);
  landed.refused = "event-2";
  const auto inlet = open();
  poll_until(*inlet, 3);
  EXPECT_THAT(landed.ids, ElementsAre("event-0", "event-1", "event-3"));
  EXPECT_THAT(landed.set_aside,
              ElementsAre(HasSubstr(stream + ".b not json: it is not JSON"), HasSubstr("it cannot be landed")));
  poll_until_acknowledged(*inlet, 5);
  EXPECT_EQ(unacknowledged(), 0);
}

TEST_F(JetStreamInletTest, WhatADeadReaderHadComesFirstAndIsKnownToHaveBeenGiven) {
  peer.make_stream(stream, stream + ".>");
  publish(peer, 0, 3);
  {
    const auto inlet = open();
    landed.fail_next = 1'000'000;
    while (!inlet->is_up() || landed.fail_next == 1'000'000 || unacknowledged() < 3) inlet->poll(10ms);
    landed.fail_next = 0;
  }
  publish(peer, 3, 6);
  const auto inlet = open();
  poll_until(*inlet, 6);
  EXPECT_EQ(landed.ids, numbered(0, 6));
  // The server may have given a later one to the dead reader, too.
  EXPECT_THAT(landed.attempts, ElementsAre(2, 2, 2, _, _, _));
}

TEST_F(JetStreamInletTest, OneOfSeveralProcessesReadsAndAnotherGoesOn) {
  peer.make_stream(stream, stream + ".>");
  publish(peer, 0, 10);
  const std::uint64_t home = std::uint64_t{1} << partition_of("reader");
  const auto first = open(options(url), home), second = open(options(url), ~home);
  while (!second->is_up()) second->poll(1s);  // it could read
  for (int i = 0; i < 5; ++i) second->poll(10ms);
  EXPECT_TRUE(landed.ids.empty());
  poll_until(*first, 10);
  poll_until_acknowledged(*first, 10);
  first->set_partitions(0);
  publish(peer, 10, 20);
  first->poll(100ms);
  EXPECT_EQ(landed.ids.size(), 10u);
  second->set_partitions(kAll);
  poll_until(*second, 20);
  EXPECT_EQ(landed.ids, numbered(0, 20));
}

TEST_F(JetStreamInletTest, AnEventWithoutAKeyHasItsSubjectAsItsKey) {
  peer.make_stream(stream, stream + ".>");
  Message message = make_message("event-0");
  message.event.key.clear();
  peer.publish(stream + ".here", cloud_event(message));
  publish(peer, 1, 2);
  const auto inlet = open();
  poll_until(*inlet, 2);
  EXPECT_THAT(landed.keys, ElementsAre(stream + ".here", "donor-1"));
}

TEST_F(JetStreamInletTest, OnlyWhatTheFilterNamesIsTakenFromNowOnWhereThatIsWanted) {
  peer.make_stream(stream, stream + ".>");
  publish(peer, 0, 3);
  JetStreamInletOptions chosen = options(url);
  chosen.filter_subject = stream + ".a";
  chosen.from = JetStreamInletOptions::From::now;
  const auto inlet = open(chosen);
  while (!inlet->is_up() || peer.ask("CONSUMER.INFO." + stream + ".reader").contains("error")) inlet->poll(10ms);
  peer.publish(stream + ".b", cloud_event(make_message("another")));
  publish(peer, 3, 5);
  poll_until(*inlet, 2);
  EXPECT_EQ(landed.ids, numbered(3, 5));
}

TEST_F(JetStreamInletTest, AStreamThatKeepsMessagesForLongerThanTheirIdsAreKnownIsRefused) {
  peer.make_stream(stream, stream + ".>", R"("max_age":864000000000000)");
  JetStreamInletOptions chosen = options(url);
  chosen.accept_late_repeats = false;
  const auto inlet = open(chosen);
  EXPECT_EQ(inlet->memory(), 6 * 24h);
  while (log.lines().empty()) inlet->poll(1s);
  EXPECT_FALSE(inlet->is_up());
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("longer than age_max")));
  chosen.age_max = 10 * 24h;
  const auto longer = open(chosen);
  while (!longer->is_up()) longer->poll(1s);
}

TEST_F(JetStreamInletTest, ADurableThatIsNotForItIsRefused) {
  peer.make_stream(stream, stream + ".>");
  peer.do_it("CONSUMER.DURABLE.CREATE." + stream + ".reader",
             R"({"stream_name":")" + stream + R"(","config":{"durable_name":"reader","ack_policy":"all"}})");
  const auto inlet = open();
  while (log.lines().empty()) inlet->poll(1s);
  EXPECT_FALSE(inlet->is_up());
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("explicit acknowledgements")));
}

TEST_F(JetStreamInletTest, ARestartOfTheServerDelaysAndAWipedOneIsSaid) {
  NatsServer server;
  std::optional<NatsPeer> own(server.url());
  own->make_stream(stream, stream + ".>");
  publish(*own, 0, 5);
  const auto inlet = open(options(server.url()));
  poll_until(*inlet, 5);
  server.stop_cleanly();
  while (inlet->is_up()) inlet->poll(1s);
  server.start();
  own.emplace(server.url());
  publish(*own, 5, 10);
  clock.advance(5s);
  while (landed.ids.size() < 10) {
    inlet->poll(100ms);
    clock.advance(100ms);
  }
  EXPECT_EQ(landed.ids, numbered(0, 10));
  const std::size_t said = log.lines().size();  // that the server is shut down
  server.stop();
  server.store().empty();
  server.start();
  while (log.lines().size() == said) inlet->poll(1s);
  EXPECT_FALSE(inlet->is_up());
  EXPECT_THAT(log.lines().back(), HasSubstr("does not exist"));
  own.emplace(server.url());
  own->make_stream(stream, stream + ".>");
  publish(*own, 10, 15);
  clock.advance(2s);
  poll_until(*inlet, 15);
  EXPECT_EQ(landed.ids, numbered(0, 15));
}

TEST_F(JetStreamInletTest, OptionsThatCannotWorkAreRefused) {
  const auto error = [&](auto change) -> std::string {
    JetStreamInletOptions chosen = options(url);
    change(chosen);
    try {
      open(chosen);
    } catch (const Invalid& invalid) {
      return invalid.what();
    }
    return "accepted";
  };
  EXPECT_THAT(error([](auto& o) { o.durable = "a.b"; }), HasSubstr("letters, digits"));
  EXPECT_THAT(error([](auto& o) { o.in_flight_max = 0; }), HasSubstr("1 to 10000"));
  EXPECT_THAT(error([](auto& o) { o.stream.make = JetStream::New{.subjects = {"a"}, .max_age = 7 * 24h}; }),
              HasSubstr("no longer than the inlet's age_max"));
}

}  // namespace
}  // namespace skald::test
