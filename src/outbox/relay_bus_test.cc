// Buses that are down, and buses that break.
#include <gmock/gmock.h>

#include "outbox/relay_fixture.h"

namespace skald::outbox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RelayBusTest : public RelayTest {
 protected:
  RelayBusTest() { bus_.answers = true; }
};
INSTANTIATE_TEST_SUITE_P(Databases, RelayBusTest, kBothDatabases, name_of);

TEST_P(RelayBusTest, NothingIsClaimedForABusThatIsDownAndOthersGoOn) {
  bus_.ready = false;
  emit("e1", "sent");
  emit("e2", "both", "other");
  emit("e3", "local", "third");
  emit("e4", "local");  // behind e1
  run();
  EXPECT_THAT(bus_.sent, IsEmpty());
  for (const char* id : {"e1", "e2"}) {
    EXPECT_EQ(status_of(id), EntryStatus::PENDING);
    EXPECT_EQ(entry(id).attempts, 0);
  }
  EXPECT_EQ(status_of("e3"), EntryStatus::COMPLETED);
  EXPECT_EQ(status_of("e4"), EntryStatus::PENDING) << "its key waits";
  EXPECT_EQ(relay_.in_hand(), 0u);
}

TEST_P(RelayBusTest, WhatWaitedForABusGoesOnceItIsReadyWithoutAnotherWakeUp) {
  bus_.ready = false;
  emit("e1", "sent");
  emit("e2", "sent");
  run();
  bus_.ready = true;
  run();
  EXPECT_THAT(bus_.sent, ElementsAre("e1", "e2"));
  EXPECT_EQ(entry("e2").attempts, 1);
}

TEST_P(RelayBusTest, WhatWasUnderWayWhenTheBusBrokeIsSentAgainAsSoonAsItIsReady) {
  bus_.answers = false;
  emit("e1", "sent");
  run();
  bus_.answers = true;
  bus_.ready = false;
  bus_.answer = Outcome::cut_off("the connection broke");
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::FAILED);
  EXPECT_EQ(entry("e1").attempts, 0) << "it was not its fault";
  bus_.ready = true;
  bus_.answer = Outcome::ok();
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED);
  EXPECT_THAT(bus_.sent, ElementsAre("e1", "e1"));
}

TEST_P(RelayBusTest, OneThatBreaksItsBusEachTimeComesToAnEnd) {
  bus_.answer = Outcome::cut_off("the connection broke");
  emit("e1", "sent");
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::DEAD_LETTER);
  EXPECT_GT(bus_.sent.size(), 10u) << "a few times may be chance";
}

}  // namespace
}  // namespace skald::outbox
