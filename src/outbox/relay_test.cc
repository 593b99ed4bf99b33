// The relay where nobody else can bring it: a partition lost between two of its
// steps. What it does in life is shown by sim/ and tests/.
#include <gmock/gmock.h>

#include "outbox/relay_fixture.h"
#include "store/tables/inbox.h"

namespace skald::outbox {
namespace {

using ::testing::ElementsAre;

INSTANTIATE_TEST_SUITE_P(Databases, RelayTest, kBothDatabases, name_of);

TEST_P(RelayTest, AnEventGoesThroughItsConsumersAndThenToItsBus) {
  emit("e1");
  relay_.run_once();  // claims
  EXPECT_EQ(status_of("e1"), EntryStatus::PROCESSING);
  relay_.run_once();
  EXPECT_EQ(handled_, 1);
  EXPECT_EQ(bus_.sent, std::vector<std::string>{"e1"});
}

TEST_P(RelayTest, WhereManyComeAtOnceItRestsBetweenItsPasses) {
  const auto emit_many = [this](int from, int to) {
    for (int i = from; i < to; ++i) emit("e" + std::to_string(i), "local", "k" + std::to_string(i));
  };
  emit_many(0, 7);
  run();
  emit_many(7, 8);
  run();
  EXPECT_EQ(handled_, 8) << "few are handled as they come";
  emit_many(10, 18);
  run();
  EXPECT_EQ(handled_, 16);
  EXPECT_TRUE(relay_.rests());
  emit_many(20, 21);
  const Duration rest = relay_.run_once();
  EXPECT_EQ(handled_, 16);
  ASSERT_GT(rest, Duration::zero());
  clock_.at += rest;
  EXPECT_FALSE(relay_.rests());
  run();
  EXPECT_EQ(handled_, 17) << "what came meanwhile is not forgotten";
}

TEST_P(RelayTest, TheMoreComeTheLongerItRestsUpToALimit) {
  const auto rest_after = [this](int from, int to) {
    for (int i = from; i < to; ++i) emit("e" + std::to_string(i), "local", "k" + std::to_string(i));
    run();
    EXPECT_EQ(handled_, to);
    const Duration rest = relay_.run_once();
    EXPECT_TRUE(relay_.rests());
    clock_.at += rest;
    return rest;
  };
  const Duration some = rest_after(0, 10), more = rest_after(10, 40), flood = rest_after(40, 440);
  EXPECT_LT(some, more);
  EXPECT_LT(more, flood);
  EXPECT_LE(flood, 40ms);
}

// A file of SQLite has one worker.
class SharedRelayTest : public RelayTest {};
INSTANTIATE_TEST_SUITE_P(Databases, SharedRelayTest, testing::Values(Dialect::postgres), name_of);

TEST_P(SharedRelayTest, EachOfTwoWorkersRestsForBoth) {
  Membership other{env_, db(), {"host", 2}, Membership::Kind::leased, options_};
  const std::size_t half = kPartitions / 2;
  for (int beats = 0; beats < 20 && membership_.view()->shares.size() > half; ++beats) {
    clock_.at += options_.beat;
    other.run_once();
    membership_.run_once();
    run();
  }
  ASSERT_EQ(membership_.view()->shares.size(), half);
  for (int i = 0; i < 400; ++i) emit("e" + std::to_string(i), "local", "k" + std::to_string(i));
  run();
  EXPECT_GT(handled_, 100);
  EXPECT_EQ(relay_.run_once(), 80ms);
}

TEST_P(RelayTest, NothingIsSentThatItsConsumersFoundInAnothersPartition) {
  emit("e1");
  relay_.run_once();  // claims
  ASSERT_EQ(relay_.in_hand(), 1u);
  lose_everything();
  relay_.run_once();
  EXPECT_EQ(handled_, 0);
  EXPECT_TRUE(bus_.sent.empty());
  EXPECT_EQ(relay_.in_hand(), 0u) << "it is the new owner's";
  EXPECT_EQ(status_of("e1"), EntryStatus::PROCESSING);
}

TEST_P(RelayTest, NoPassIsMadeAfterADeliveryThatNobodyWaitedFor) {
  run();
  bus_.answers = true;
  const auto steps = [&] {
    int count = 0;
    while (relay_.run_once() == Duration::zero()) ++count;
    return count;
  };
  emit("e1", "sent");
  EXPECT_EQ(steps(), 2);  // claims, settles
  emit("e1-of-two", "sent");
  emit("e2-of-two", "sent");
  EXPECT_EQ(steps(), 4);
}

// Offers come from PostgreSQL's notifications only.
class RelayOfferTest : public RelayTest {
 protected:
  RelayOfferTest() {
    routing_.add(Consumer{.name = "c2", .type = "local", .handle = [](Transaction& tx, const Message& message) {
                            tx.enqueue("INSERT INTO seen (id) VALUES ($1)", message.event.id);
                          }});
    db().write("prepare", [](Transaction& tx) { tx.execute("CREATE TABLE seen (id TEXT NOT NULL)"); });
    relay_.run_once();  // the first pass, over nothing
  }
  Entry offer_of(const std::string& id) {
    const std::string text =
        db().read_result([&](Transaction& tx) { return tx.query(tables::outbox::kOffer, id).get<std::string>(0, 0); });
    const auto entry = tables::outbox::read_offer(text);
    EXPECT_TRUE(entry.has_value()) << text;
    return entry.value_or(Entry{});
  }
  std::string seen() {
    return db().read_result([](Transaction& tx) {
      return tx.query("SELECT COALESCE(string_agg(id, ' '), '') FROM seen").get<std::string>(0, 0);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Postgres, RelayOfferTest, testing::Values(Dialect::postgres),
                         [](auto&) { return "postgres"; });

TEST_P(RelayOfferTest, IsReadAsItStandsInTheTable) {
  emit("e1", "local");
  const Entry offered = offer_of("e1");
  const auto found = db().read_result([](Transaction& tx) { return tables::outbox::find(tx, "e1"); });
  EXPECT_EQ(offered.event.payload, found->event.payload);
  EXPECT_EQ(offered.event.key, found->event.key);
  EXPECT_EQ(offered.seq, found->seq);
  EXPECT_EQ(offered.partition, found->partition);
  EXPECT_EQ(offered.content_hash, found->content_hash);
  EXPECT_EQ(offered.created_at, found->created_at);
  EXPECT_FALSE(tables::outbox::read_offer("[1]"));
  EXPECT_FALSE(tables::outbox::read_offer("17"));
  EXPECT_FALSE(tables::outbox::read_offer("{"));
}

TEST_P(RelayOfferTest, IsHandledWithoutAPass) {
  emit("e1", "local");
  relay_.offer(offer_of("e1"));
  relay_.run_once();
  EXPECT_EQ(seen(), "e1");
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED);
}

TEST_P(RelayOfferTest, IsClaimedByAPassAndSentWhereItIsForABus) {
  emit("e1");
  relay_.offer(offer_of("e1"));
  relay_.run_once();  // claims
  EXPECT_EQ(status_of("e1"), EntryStatus::PROCESSING);
  relay_.run_once();
  EXPECT_EQ(bus_.sent, std::vector<std::string>{"e1"});
}

TEST_P(RelayOfferTest, WaitsForAnEarlierEventOfItsKey) {
  emit("e1", "local");
  emit("e2", "local");
  relay_.offer(offer_of("e2"));
  relay_.run_once();
  EXPECT_EQ(seen(), "e1 e2") << "by a pass, in order";
}

TEST_P(RelayOfferTest, IsHandledOnceHoweverOftenItIsOffered) {
  emit("e1", "local");
  const Entry offered = offer_of("e1");
  for (int i = 0; i < 3; ++i) {
    relay_.offer(offered);
    relay_.run_once();
  }
  EXPECT_EQ(seen(), "e1");
}

TEST_P(RelayOfferTest, StaysWhereItsKeyIsBlocked) {
  db().write("block", [](Transaction& tx) {
    tx.execute("INSERT INTO skald_blocked_key (key, event_id, since) VALUES ('k', 'earlier', 0)");
  });
  emit("e1", "local");
  relay_.offer(offer_of("e1"));
  relay_.run_once();
  EXPECT_EQ(seen(), "");
}

TEST_P(RelayOfferTest, WhatIsNotAsOfferedBreaksARuleOfTheTables) {
  emit("e1", "local");
  const std::string consumers[] = {"d"};
  try {
    db().write("offer", [&](Transaction& tx) {
      tables::outbox::complete_offered(tx, "another", {partition_of("k"), 1, 0}, "e1", consumers);
    });
    FAIL() << "it was taken on trust";
  } catch (const Conflict& error) {
    EXPECT_EQ(error.code(), "CONSTRAINT_VIOLATION");
  }
  EXPECT_EQ(status_of("e1"), EntryStatus::PENDING);
}

TEST_P(RelayOfferTest, HasItsInboxRowsWithIt) {
  emit("e1", "local");
  relay_.offer(offer_of("e1"));
  relay_.run_once();
  const auto handled = db().read_result([](Transaction& tx) { return tables::inbox::of(tx, "e1"); });
  std::set<std::string> consumers;
  for (const auto& one : handled) consumers.insert(one.consumer);
  EXPECT_EQ(consumers, (std::set<std::string>{"c2", "d"}));
}

TEST_P(RelayOfferTest, StaysWhereItsPartitionIsAnothersByNow) {
  emit("e1", "local");
  relay_.offer(offer_of("e1"));
  lose_everything();
  relay_.run_once();
  EXPECT_EQ(seen(), "");
  EXPECT_EQ(status_of("e1"), EntryStatus::PENDING);
}

}  // namespace
}  // namespace skald::outbox
