#include "outbox/triage.h"

#include <gtest/gtest.h>

#include "outbox/integrity.h"

namespace skald::outbox {
namespace {

class NoBus final : public Bus {
 public:
  void send(Message, Done) override {}
  void poll(Duration, std::span<const int>) override {}
  std::size_t in_flight() const override { return 0; }
  bool is_ready() const override { return ready; }
  bool ready = true;
};

class TriageTest : public testing::Test {
 protected:
  TriageTest() {
    routing.add(Route{.type = "sent", .bus = &bus});
    routing.add(Consumer{.name = "c", .type = "local", .handle = [](Transaction&, const Message&) {}});
  }

  Entry& add(const std::string& id, const std::string& key, const std::string& type,
             EntryStatus status = EntryStatus::PENDING) {
    Entry entry;
    entry.id = entry.event.id = id;
    entry.seq = static_cast<std::int64_t>(entries.size()) + 1;
    entry.event.key = key;
    entry.event.type = type;
    entry.event.payload = "{}";
    entry.content_hash = content_hash(entry.event, "");
    entry.status = status;
    entries.push_back(entry);
    return entries.back();
  }

  Triage run() {
    HeldKeys held;
    return triage(
        {entries, blocked, in_hand, careful, routing, "", now, room, blames, alone_in_hand, suspects_in_hand, chance},
        held);
  }

  static std::string ids(const std::vector<Entry>& list) {
    std::string out;
    for (const Entry& entry : list) out += entry.id;
    return out;
  }

  NoBus bus;
  Routing routing;
  std::vector<Entry> entries;
  std::vector<std::string> blocked;
  std::unordered_map<std::string, InHand> in_hand;
  std::set<int> careful;
  Time now = from_micros(1000);
  std::size_t room = 10;
  Blames blames;
  bool alone_in_hand = false, suspects_in_hand = false;
  std::uint64_t chance = 0;
};

TEST_F(TriageTest, SendsOneEventPerKeyAtATime) {
  add("a", "k", "sent");
  add("b", "k", "sent");
  add("c", "other", "sent");
  EXPECT_EQ(ids(run().send), "ac");
}

TEST_F(TriageTest, OfThoseThatADeathWouldCountAgainstOneGoesAndChanceSaysWhich) {
  add("a", "1", "sent").crashes = tables::blame::kDeathsAlone;
  add("b", "2", "local").crashes = tables::blame::kDeathsAlone + 5;
  add("c", "3", "sent");
  EXPECT_EQ(run().alone->id, "a");
  EXPECT_EQ(run().no_room.size(), 1u);
  EXPECT_EQ(ids(run().send), "c");
  chance = 1;
  EXPECT_EQ(run().alone->id, "b");
  alone_in_hand = true;
  EXPECT_FALSE(run().alone);
}

TEST_F(TriageTest, WhatGoesAloneHasNoOtherSuspectBesideIt) {
  add("a", "k", "sent").crashes = tables::blame::kDeathsAlone;
  add("b", "m", "sent");
  add("c", "m", "local");
  Triage out = run();
  EXPECT_EQ(out.alone->id, "a");
  EXPECT_EQ(ids(out.send) + ids(out.local), "b") << "nothing of m goes past b";
  suspects_in_hand = true;
  EXPECT_FALSE(run().alone);
  suspects_in_hand = false;
  add("e", "n", "sent").crashes = 1;
  out = run();
  EXPECT_FALSE(out.alone) << "e is one of many suspects, and goes first";
  EXPECT_EQ(ids(out.send), "be");
  alone_in_hand = true;
  EXPECT_EQ(ids(run().send), "b");
}

TEST_F(TriageTest, WhatHasKilledThreeTimesIsParkedOnceForEachTimeAndNotRun) {
  add("a", "1", "local").crashes = tables::blame::kDeathsAlone;
  blames["a"] = {.counted = 3};
  EXPECT_EQ(ids(run().condemned), "a");
  EXPECT_FALSE(run().alone);
  blames["a"].parked_at = 3;
  EXPECT_EQ(run().alone->id, "a") << "it was parked for that, and its time has come again";
  blames["a"].counted = 4;
  EXPECT_EQ(ids(run().condemned), "a");
}

TEST_F(TriageTest, LocalEventsOfOneKeyFollowEachOtherInOneTransaction) {
  add("a", "k", "local");
  add("b", "k", "local");
  EXPECT_EQ(ids(run().local), "ab");
}

TEST_F(TriageTest, AFailingHeadBlocksItsKeyAlone) {
  add("a", "k", "local", EntryStatus::FAILED).next_retry_at = from_micros(2000);
  add("b", "k", "local");
  add("c", "other", "local");
  const Triage result = run();
  EXPECT_EQ(ids(result.local), "c");
  EXPECT_EQ(result.next_due, from_micros(2000));
}

TEST_F(TriageTest, AHeadWhoseTimeHasComeGoes) {
  add("a", "k", "local", EntryStatus::FAILED).next_retry_at = now;
  EXPECT_EQ(ids(run().local), "a");
}

TEST_F(TriageTest, WhatIsUnderWayBlocksItsKey) {
  add("a", "k", "sent", EntryStatus::PROCESSING);
  add("b", "k", "sent");
  in_hand["a"] = {};
  const Triage result = run();
  EXPECT_TRUE(result.send.empty());
  EXPECT_TRUE(result.orphans.empty());
}

TEST_F(TriageTest, ProcessingInNobodysHandIsAnOrphan) {
  add("a", "k", "sent", EntryStatus::PROCESSING);
  EXPECT_EQ(ids(run().orphans), "a");
}

TEST_F(TriageTest, ChangedContentIsNeverDelivered) {
  add("a", "k", "local").event.payload = "{\"amount\":1}";
  add("b", "k", "sent", EntryStatus::PROCESSING).event.type = "local";
  entries[1].event.key = "other";
  const Triage result = run();
  EXPECT_TRUE(result.local.empty());
  EXPECT_EQ(ids(result.forged), "ab");
}

TEST_F(TriageTest, AKeyBehindABlockingDeadLetterWaits) {
  add("a", "k", "local");
  blocked = {"k"};
  EXPECT_TRUE(run().local.empty());
}

TEST_F(TriageTest, AfterADeathEventsAreClaimedTogetherAndAfterAnotherInSmallGroups) {
  for (int i = 0; i < 10; ++i) add(std::string(1, static_cast<char>('a' + i)), "k" + std::to_string(i), "local");
  careful.insert(entries[0].partition);
  const Triage once = run();
  EXPECT_TRUE(once.local.empty());
  EXPECT_EQ(ids(once.claimed), "abcdefghij");
  for (Entry& entry : entries) entry.crashes = 2;
  const Triage twice = run();
  EXPECT_EQ(ids(twice.claimed), "abcdefgh");
  EXPECT_EQ(twice.no_room.size(), 1u);
  entries[0].crashes = 0;
  EXPECT_EQ(ids(run().claimed), "a") << "no suspect beside one that is none";
}

TEST_F(TriageTest, NothingOfItsKeyIsRunBeforeASuspectThatIsClaimed) {
  add("a", "k", "local").crashes = 2;
  add("b", "k", "local");
  EXPECT_EQ(ids(run().claimed), "a");
  EXPECT_EQ(ids(run().local), "");
}

TEST_F(TriageTest, ABusThatIsDownKeepsItsKeysWaitingAndNoOthers) {
  bus.ready = false;
  add("a", "k", "sent");
  add("b", "k", "local");
  add("c", "other", "local");
  const Triage result = run();
  EXPECT_TRUE(result.send.empty());
  EXPECT_EQ(ids(result.local), "c");
  EXPECT_EQ(result.no_bus, std::set<int>{entries[0].partition});
}

TEST_F(TriageTest, SendsStopWhereThereIsNoRoomAndTheKeyKeepsItsPlace) {
  room = 1;
  add("a", "k", "sent");
  add("b", "other", "sent");
  add("c", "other", "local");
  const Triage result = run();
  EXPECT_EQ(ids(result.send), "a");
  EXPECT_TRUE(result.local.empty());
}

}  // namespace
}  // namespace skald::outbox
