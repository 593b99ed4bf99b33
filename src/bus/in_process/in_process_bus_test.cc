#include "bus/in_process/in_process_bus.h"

#include <gmock/gmock.h>

#include <memory>

#include "conformance/bus_conformance.h"
#include "skald/error.h"

namespace skald::test {
namespace {

class InProcessHarness {
 public:
  InProcessHarness() {
    bus_->subscribe("donation.*", [this](std::span<const Message> messages) {
      const bool well = failing_ + refusing_ == 0;
      if (!well && messages.size() > 1) return Outcome::failed("one of them fails");
      for (const Message& message : messages)
        arrivals_.push_back({message.event.id, message.event.payload, cloud_event(message)});
      if (failing_ > 0) return --failing_, Outcome::failed("the receiver fails");
      if (refusing_ > 0) return --refusing_, Outcome::refused("the receiver refuses");
      return Outcome::ok();
    });
  }
  Bus& bus() { return *bus_; }
  void fail_next(int count) { failing_ = count; }
  void refuse_next(int count) { refusing_ = count; }
  std::vector<BusArrival> arrivals() { return arrivals_; }
  void drop_bus() { bus_.reset(); }

 private:
  std::vector<BusArrival> arrivals_;
  int failing_ = 0, refusing_ = 0;
  std::unique_ptr<InProcessBus> bus_ = std::make_unique<InProcessBus>();
};

INSTANTIATE_TYPED_TEST_SUITE_P(InProcess, BusConformance, InProcessHarness);

class InProcessBusTest : public ::testing::Test {
 protected:
  Outcome deliver(const std::string& type) {
    Message message = make_message("id");
    message.event.type = type;
    Outcome result = Outcome::failed("not called");
    bus_.send(message, [&](Outcome outcome) { result = std::move(outcome); });
    bus_.poll(0s);
    return result;
  }

  InProcessBus::Subscriber noting(const std::string& name) {
    return [this, name](std::span<const Message> messages) {
      for (const Message& message : messages) seen_.push_back(name + ":" + message.event.type);
      return Outcome::ok();
    };
  }

  InProcessBus bus_;
  std::vector<std::string> seen_;
};

TEST_F(InProcessBusTest, SubscribersGetTheirExactTypeTheirPrefixOrEverything) {
  bus_.subscribe("donation.accepted", noting("exact"));
  bus_.subscribe("donation.*", noting("prefix"));
  bus_.subscribe("*", noting("all"));
  deliver("donation.accepted");
  deliver("donation.accepted.late");
  deliver("donations");
  EXPECT_THAT(seen_,
              ::testing::ElementsAre("exact:donation.accepted", "prefix:donation.accepted", "all:donation.accepted",
                                     "prefix:donation.accepted.late", "all:donation.accepted.late", "all:donations"));
}

TEST_F(InProcessBusTest, AnEventThatNobodyWantsIsDelivered) {
  bus_.subscribe("order.*", noting("order"));
  EXPECT_EQ(deliver("donation.accepted").verdict, Verdict::delivered);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(InProcessBusTest, AStarElsewhereThanAtTheEndIsRefused) {
  for (const char* pattern : {"", "*.accepted", "donation.*.x", "**"})
    EXPECT_THROW(bus_.subscribe(pattern, noting("x")), Invalid) << pattern;
}

TEST_F(InProcessBusTest, DeliversInTheOrderOfSendingAndBoundedPerPoll) {
  std::vector<std::string> ids;
  std::size_t calls = 0;
  bus_.subscribe("*", [&](std::span<const Message> messages) {
    ++calls;
    for (const Message& message : messages) ids.push_back(message.event.id);
    return Outcome::ok();
  });
  const std::size_t count = InProcessBus::kPerPoll + 44;
  for (std::size_t i = 0; i < count; ++i) bus_.send(make_message(std::to_string(i)), [](Outcome) {});
  bus_.poll(1h);
  EXPECT_EQ(ids.size(), InProcessBus::kPerPoll);
  EXPECT_EQ(bus_.in_flight(), 44u);
  bus_.poll(1h);
  EXPECT_EQ(calls, 2u);
  ASSERT_EQ(ids.size(), count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(ids[i], std::to_string(i));
}

TEST_F(InProcessBusTest, OneBadEventAmongManyHarmsNoOther) {
  std::vector<std::string> landed;
  bus_.subscribe("*", [&](std::span<const Message> messages) {
    for (const Message& message : messages)
      if (message.event.id == "1") throw Refused("NO", "not this one");
    for (const Message& message : messages) landed.push_back(message.event.id);
    return Outcome::ok();
  });
  std::vector<Verdict> verdicts;
  for (const char* id : {"0", "1", "2"}) {
    Message message = make_message(id);
    message.event.key = id;
    bus_.send(message, [&](const Outcome& outcome) { verdicts.push_back(outcome.verdict); });
  }
  bus_.poll(1h);
  EXPECT_THAT(landed, ::testing::ElementsAre("0", "2"));
  EXPECT_THAT(verdicts, ::testing::ElementsAre(Verdict::delivered, Verdict::refused, Verdict::delivered));
}

// For none of its subscribers; and what is sent later than that goes on.
TEST_F(InProcessBusTest, WhatComesBehindOneThatIsNotDeliveredIsCutOffHoweverFarBehind) {
  std::vector<std::string> first, second;
  const auto notes = [](std::vector<std::string>& seen, const std::string& bad) {
    return [&seen, bad](std::span<const Message> messages) {
      for (const Message& message : messages)
        if (message.event.id == bad) return Outcome::refused("not this one");
      for (const Message& message : messages) seen.push_back(message.event.id);
      return Outcome::ok();
    };
  };
  bus_.subscribe("*", notes(first, "1"));
  bus_.subscribe("*", notes(second, "2"));
  std::vector<Outcome> outcomes;
  const auto send = [&](int id, const std::string& key) {
    Message message = make_message(std::to_string(id));
    message.event.key = key;
    bus_.send(message, [&](Outcome outcome) { outcomes.push_back(std::move(outcome)); });
  };
  const int count = static_cast<int>(InProcessBus::kPerPoll) + 10;
  for (int id = 0; id < count; ++id) send(id, "k");
  send(count, "other");
  bus_.poll(1h);
  ASSERT_EQ(outcomes.size(), static_cast<std::size_t>(count)) << "all of the key, in the queue, too";
  EXPECT_EQ(outcomes[0].verdict, Verdict::delivered);
  EXPECT_EQ(outcomes[1].verdict, Verdict::refused);
  for (int id = 2; id < count; ++id) EXPECT_TRUE(outcomes[static_cast<std::size_t>(id)].at_once) << id;
  EXPECT_THAT(first, ::testing::ElementsAre("0"));
  EXPECT_THAT(second, ::testing::ElementsAre("0", "1"));
  send(count + 1, "k");
  bus_.poll(1h);
  EXPECT_EQ(outcomes.back().verdict, Verdict::delivered);
  EXPECT_EQ(first.size(), 3u) << "the other key's, and the later one";
}

TEST_F(InProcessBusTest, WhatASubscriberThrowsBecomesTheOutcome) {
  bus_.subscribe("refused", [](std::span<const Message>) -> Outcome { throw Refused("NO", "the business says no"); });
  bus_.subscribe("malformed", [](std::span<const Message>) -> Outcome { throw Malformed("BAD", "not readable"); });
  bus_.subscribe("busy", [](std::span<const Message>) -> Outcome { throw Busy("LATER", "come back", 1500ms); });
  bus_.subscribe("unknown",
                 [](std::span<const Message>) -> Outcome { throw CommitUnknown("LOST", "the answer was lost"); });
  bus_.subscribe("runtime",
                 [](std::span<const Message>) -> Outcome { throw std::runtime_error(std::string(600, 'x')); });
  bus_.subscribe("strange", [](std::span<const Message>) -> Outcome { throw 42; });

  EXPECT_EQ(deliver("refused").verdict, Verdict::refused);
  EXPECT_EQ(deliver("refused").error, "the business says no");
  EXPECT_EQ(deliver("malformed").verdict, Verdict::refused);
  EXPECT_EQ(deliver("busy").verdict, Verdict::retry);
  EXPECT_EQ(deliver("busy").retry_after, Duration(1500ms));
  EXPECT_EQ(deliver("unknown").verdict, Verdict::retry);
  EXPECT_EQ(deliver("runtime").error, std::string(500, 'x'));
  EXPECT_EQ(deliver("strange").verdict, Verdict::retry);
}

TEST_F(InProcessBusTest, ARetryOutweighsARefusalAndKeepsNobodyFromTheEvent) {
  bus_.subscribe("*", [](std::span<const Message>) { return Outcome::refused("no"); });
  bus_.subscribe("*", [](std::span<const Message>) { return Outcome::failed("later", 5s); });
  bus_.subscribe("*", noting("third"));
  const Outcome outcome = deliver("x");
  EXPECT_EQ(outcome.verdict, Verdict::retry);
  EXPECT_EQ(outcome.error, "later");
  EXPECT_EQ(outcome.retry_after, Duration(5s));
  EXPECT_EQ(seen_.size(), 1u);
}

}  // namespace
}  // namespace skald::test
