#include "outbox/lander.h"

#include <gmock/gmock.h>

#include "outbox/relay_fixture.h"

namespace skald::outbox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LanderTest : public RelayTest {
 protected:
  LanderTest() {
    routing_.add(Consumer{.name = "l", .type = "landed", .handle = [this](Transaction&, const Message& message) {
                            if (message.event.id == refused_) throw Refused("NO", "no");
                            seen_.push_back(message.event.id);
                            if (message.out_of_order) ++late_;
                          }});
    run();  // only what a relay works on as usual is handled at once
  }
  void land(std::vector<std::string> ids, int attempt = 1, const std::string& key = "k") {
    std::vector<Message> messages;
    for (const std::string& id : ids)
      messages.push_back({{.id = id, .type = "landed", .key = key, .subject = "", .payload = "{}", .traceparent = ""},
                          "/other",
                          clock_.now(),
                          attempt,
                          false});
    lander_.land(messages);
  }
  static std::uint64_t bit() { return std::uint64_t{1} << partition_of("k"); }

  std::string refused_;
  std::vector<std::string> seen_;
  int late_ = 0;
  std::uint64_t woken_ = 0;
  Lander lander_{env_, db(), membership_, routing_, relay_, undertaker_, options_, [this](std::uint64_t partitions) {
                   woken_ |= partitions;
                   relay_.wake(partitions);
                 }};
};
INSTANTIATE_TEST_SUITE_P(Databases, LanderTest, kBothDatabases, name_of);

TEST_P(LanderTest, WhatNothingStandsInFrontOfIsHandledWithItsLanding) {
  land({"e1", "e2"});
  EXPECT_THAT(seen_, ElementsAre("e1", "e2"));
  EXPECT_EQ(woken_, 0u);
  const Entry landed = entry("e1");
  EXPECT_EQ(landed.status, EntryStatus::COMPLETED);
  EXPECT_EQ(landed.attempts, 1);
  EXPECT_EQ(landed.source, "/other");
  run();
  EXPECT_THAT(seen_, ElementsAre("e1", "e2"));
}

TEST_P(LanderTest, WhatComesAgainIsLeftOutAndWhatIsNewBesideItIsHandled) {
  land({"e1"});
  land({"e1", "e2", "e2"});
  run();
  EXPECT_THAT(seen_, ElementsAre("e1", "e2"));
}

TEST_P(LanderTest, NothingIsHandledBeforeWhatWaitsInItsKey) {
  emit("first", "sent");  // its bus does not answer
  run();
  land({"e1"});
  land({"e2"}, 1, "another");
  EXPECT_THAT(seen_, ElementsAre("e2"));
  EXPECT_EQ(status_of("e1"), EntryStatus::PENDING);
  EXPECT_EQ(woken_, bit());
  bus_.answers = true;
  run();
  EXPECT_THAT(seen_, ElementsAre("e2", "e1"));
}

TEST_P(LanderTest, ABlockedKeyStaysBlocked) {
  change("INSERT INTO skald_blocked_key (key, event_id, since) VALUES ('k', 'dead', 0)");
  land({"e1"});
  run();
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_EQ(status_of("e1"), EntryStatus::PENDING);
}

TEST_P(LanderTest, WhoHasLostThePartitionLandsAndHandlesNothing) {
  lose_everything();
  land({"e1"});
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_EQ(status_of("e1"), EntryStatus::PENDING) << "its new owner finds it";
}

TEST_P(LanderTest, WhatItsHandlerRefusesIsADeadLetterAndHarmsNoOther) {
  refused_ = "e2";
  land({"e1", "e2", "e3"});
  run();
  EXPECT_THAT(seen_, testing::IsSupersetOf({"e1", "e3"}));
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED);
  EXPECT_EQ(status_of("e2"), EntryStatus::DEAD_LETTER);
  EXPECT_EQ(status_of("e3"), EntryStatus::COMPLETED);
}

// A handler that kills its process leaves no trace but that its event comes again.
TEST_P(LanderTest, WhatSomebodyHadBeforeIsClaimedBeforeItIsHandled) {
  land({"e1"}, 2);
  EXPECT_THAT(seen_, IsEmpty());
  const Duration again = relay_.run_once();
  EXPECT_EQ(again, Duration::zero());
  EXPECT_EQ(status_of("e1"), EntryStatus::PROCESSING);
  EXPECT_THAT(seen_, IsEmpty());
  run();
  EXPECT_THAT(seen_, ElementsAre("e1"));
  land({"e2"});
  EXPECT_THAT(seen_, ElementsAre("e1", "e2")) << "all is as usual again";
}

TEST_P(LanderTest, WhatWasReplayedElsewhereIsMarkedHereWhoeverHandlesIt) {
  emit("first", "sent");
  run();
  for (const char* key : {"k", "free"}) {
    const Message late{{.id = key, .type = "landed", .key = key, .subject = "", .payload = "{}", .traceparent = ""},
                       "/other",
                       clock_.now(),
                       1,
                       true};
    lander_.land({&late, 1});
    EXPECT_TRUE(entry(key).out_of_order);
  }
  EXPECT_THAT(seen_, ElementsAre("free"));
  EXPECT_EQ(late_, 1);
  bus_.answers = true;
  run();
  EXPECT_EQ(late_, 2);
}

TEST_P(LanderTest, AnEventWithoutASourceIsNoneOfAnotherService) {
  const Message own{{.id = "e", .type = "landed", .key = "k", .subject = "", .payload = "{}", .traceparent = ""}, ""};
  EXPECT_THROW(lander_.land({&own, 1}), Invalid);
}

}  // namespace
}  // namespace skald::outbox
