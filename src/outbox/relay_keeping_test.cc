// Buses that are down, and buses that lose what they have acknowledged.
#include <gmock/gmock.h>

#include "outbox/relay_fixture.h"

namespace skald::outbox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RelayKeepingTest : public RelayTest {
 protected:
  RelayKeepingTest() { bus_.answers = true; }
  // As if it had been sent long ago.
  void age(const std::string& id, Duration by) {
    change("UPDATE skald_outbox SET updated_at = updated_at - " + std::to_string(by.count()) + " WHERE id = '" + id +
           "'");
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, RelayKeepingTest, kBothDatabases, name_of);

TEST_P(RelayKeepingTest, NothingIsClaimedForABusThatIsDownAndOthersGoOn) {
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

TEST_P(RelayKeepingTest, WhatWaitedForABusGoesOnceItIsReadyWithoutAnotherWakeUp) {
  bus_.ready = false;
  emit("e1", "sent");
  emit("e2", "sent");
  run();
  bus_.ready = true;
  run();
  EXPECT_THAT(bus_.sent, ElementsAre("e1", "e2"));
  EXPECT_EQ(entry("e2").attempts, 1);
}

TEST_P(RelayKeepingTest, WhatWasUnderWayWhenTheBusBrokeIsSentAgainAsSoonAsItIsReady) {
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

TEST_P(RelayKeepingTest, OneThatBreaksItsBusEachTimeComesToAnEnd) {
  bus_.answer = Outcome::cut_off("the connection broke");
  emit("e1", "sent");
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::DEAD_LETTER);
  EXPECT_GT(bus_.sent.size(), 10u) << "a few times may be chance";
}

TEST_P(RelayKeepingTest, WhatABusMayHaveLostIsGivenAgainInOrderBeforeAnythingNew) {
  for (const char* id : {"e1", "e2", "e3"}) emit(id, "sent");
  run();
  ASSERT_THAT(bus_.sent, ElementsAre("e1", "e2", "e3"));
  bus_.lose();
  emit("e4", "sent");
  run();
  EXPECT_THAT(bus_.given, ElementsAre("e1", "e2", "e3"));
  EXPECT_THAT(bus_.sent, ElementsAre("e1", "e2", "e3"));
  EXPECT_EQ(entry("e4").attempts, 0);
  bus_.acknowledge();
  run();
  EXPECT_TRUE(bus_.ready);
  EXPECT_EQ(bus_.sent.back(), "e4");
}

TEST_P(RelayKeepingTest, WhatWasDeliveredBeforeTheLastThatIsKeptIsNotGivenAgain) {
  for (const char* id : {"e1", "e2", "e3"}) emit(id, "sent");
  run();
  db().write("earlier", [](Transaction& tx) {
    tx.execute("UPDATE skald_outbox SET updated_at = (SELECT MIN(created_at) FROM skald_outbox) - 1 WHERE id = 'e1'");
  });
  bus_.kept = {{partition_of("k"), "e2"}};
  bus_.lose();
  run();
  EXPECT_THAT(bus_.given, ElementsAre("e2", "e3"));
  bus_.given.clear();
  bus_.kept = {{partition_of("k"), "forgotten long ago"}};
  bus_.lose();
  run();
  EXPECT_THAT(bus_.given, ElementsAre("e1", "e2", "e3"));
}

TEST_P(RelayKeepingTest, OnlyWhatWentToThatBusWithinTheWindowIsGivenAgain) {
  emit("old", "sent");
  emit("local", "local");
  emit("through", "both");
  const Event landed{.id = "landed", .type = "sent", .key = "k", .subject = "s", .payload = "{}", .traceparent = ""};
  db().write("land", [&](Transaction& tx) {
    const tables::outbox::Landing one{&landed, "/other", clock_.now(), false, content_hash(landed, ""), 3};
    tables::outbox::land(tx, std::span(&one, 1));
  });
  run();
  ASSERT_EQ(status_of("landed"), EntryStatus::COMPLETED);
  age("old", 11min);
  bus_.lose();
  run();
  EXPECT_THAT(bus_.given, ElementsAre("through"));
}

// A server that loses its end may be away for hours, and nothing is sent meanwhile.
TEST_P(RelayKeepingTest, TheWindowIsCountedFromTheLastDelivery) {
  emit("before", "sent");
  emit("e1", "sent");
  emit("e2", "sent");
  emit("meanwhile", "local");
  run();
  age("before", 3h + 11min);
  age("e1", 3h + 9min);
  age("e2", 3h);
  bus_.lose();
  run();
  EXPECT_THAT(bus_.given, ElementsAre("e1", "e2"));
}

TEST_P(RelayKeepingTest, WhatReceiversMayHaveForgottenIsNotGivenAgain) {
  emit("e1", "sent");
  run();
  age("e1", 24h);
  bus_.lose();
  run();
  EXPECT_THAT(bus_.given, IsEmpty());
  EXPECT_TRUE(bus_.ready);
}

TEST_P(RelayKeepingTest, WhatIsGivenAgainComesInPartsOfFiveHundred) {
  for (int i = 0; i < 1100; ++i) emit("e" + std::to_string(i), "sent", "key-" + std::to_string(i));
  run();
  ASSERT_EQ(bus_.sent.size(), 1100u);
  bus_.lose();
  while (!bus_.ready || bus_.given.empty()) {
    run();
    bus_.acknowledge();
  }
  EXPECT_THAT(bus_.parts, ElementsAre(500u, 500u, 100u));
  EXPECT_EQ(std::set<std::string>(bus_.given.begin(), bus_.given.end()).size(), 1100u);
}

TEST_P(RelayKeepingTest, ASecondLossInTheMiddleBeginsFromTheStart) {
  for (int i = 0; i < 600; ++i) emit("e" + std::to_string(i), "sent", "key-" + std::to_string(i));
  run();
  bus_.lose();
  run();
  ASSERT_EQ(bus_.given.size(), 500u);
  bus_.given.clear();
  bus_.lose();
  run();
  bus_.acknowledge();
  run();
  EXPECT_EQ(bus_.given.size(), 600u);
}

TEST_P(RelayKeepingTest, WhoTakesPartitionsOverGivesTheirLastMinutesAgain) {
  bus_.forgetful = true;
  emit("e1", "sent");
  // Another process sent it, and is gone.
  change("UPDATE skald_outbox SET status = 3, live = 0, locked_by = 'another'");
  emit("e2", "sent");
  run();
  EXPECT_EQ(bus_.holds, 1);
  EXPECT_THAT(bus_.given, ElementsAre("e1"));
  EXPECT_THAT(bus_.sent, IsEmpty());
  bus_.acknowledge();
  run();
  EXPECT_THAT(bus_.sent, ElementsAre("e2"));
}

TEST_P(RelayKeepingTest, PartitionsThatComeWhileOthersAreGivenAreGivenToo) {
  if (GetParam() == Dialect::sqlite) return;  // one process has them all, always
  bus_.forgetful = true;
  emit("e1", "sent", "a");
  emit("e2", "sent", "b");
  ASSERT_NE(partition_of("a"), partition_of("b"));
  change("UPDATE skald_outbox SET status = 3, live = 0");
  run();
  ASSERT_THAT(bus_.given, ElementsAre("e1", "e2"));
  membership_.give_back(partition_of("b"));
  run();
  membership_.run_once();  // nobody else wants it
  run();
  EXPECT_EQ(bus_.holds, 2);
  bus_.acknowledge();
  run();
  EXPECT_THAT(bus_.given, ElementsAre("e1", "e2", "e2"));
}

TEST_P(RelayKeepingTest, WhatWasChangedSinceItsDeliveryIsNotGivenAgain) {
  emit("e1", "sent");
  emit("e2", "sent", "other");
  run();
  change("UPDATE skald_outbox SET payload = '{\"forged\":1}' WHERE id = 'e1'");
  bus_.lose();
  run();
  EXPECT_THAT(bus_.given, ElementsAre("e2"));
}

}  // namespace
}  // namespace skald::outbox
