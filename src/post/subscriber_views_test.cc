#include "store/tables/subscriber_views.h"

#include "post/post_fixture.h"

namespace skald::post {
namespace {

using tables::subscriber::Delivery;
using tables::subscriber::Row;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SubscriberViewsTest : public PostTest {
 protected:
  std::vector<SubscriberView> views() { return here_->db().read_result(tables::subscriber::views); }
  SubscriberDetail detail(const std::string& name) {
    return here_->db().read_result([&](Transaction& tx) { return *tables::subscriber::detail(tx, name); });
  }
  // "NAME has", "NAME is owed".
  std::vector<std::string> deliveries(const std::string& id) {
    const Entry entry = here_->entry(id);
    std::vector<std::string> out;
    for (const Delivery& one :
         here_->db().read_result([&](Transaction& tx) { return tables::subscriber::deliveries(tx, entry); }))
      out.push_back(one.subscriber + (one.is_owed ? " is owed" : " has"));
    return out;
  }
  void put(const std::string& name) {
    here_->db().write("subscribe",
                      [&](Transaction& tx) { tables::subscriber::put(tx, {.name = name, .types = {"order.*"}}); });
  }
  // As that many events of one key, owed to the first subscriber.
  void owe(int count) {
    here_->change("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < " + std::to_string(count) +
                  ") INSERT INTO skald_outbox (id, partition, key, type, subject, payload, content_hash, retries_max, "
                  "created_at, updated_at, live, owed) SELECT 'many-' || x, 5, 'k', 'order.placed', '', '{}', '', 3, "
                  "1000000 + x, 1000000 + x, 0, 1 FROM n");
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, SubscriberViewsTest, kBothDatabases, name_of);

TEST_P(SubscriberViewsTest, OfTwoSubscribersOneHasItAndTheOtherIsOwedIt) {
  put("later");
  emit("e1");
  for (run(); !courier_.sent.empty(); run()) {
    const auto sent = take_sent();
    if (sent.to == "there") answer(sent, accept(sent.letter));
    else sent.answered({Courier::Answer::Kind::nobody});
    pass(60ms);
    if (deliveries("e1") == std::vector<std::string>{"later is owed", "there has"}) break;
  }
  EXPECT_THAT(deliveries("e1"), ElementsAre("later is owed", "there has"));
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::PENDING);
  ASSERT_THAT(views(), SizeIs(2));
  EXPECT_EQ(views()[0].owed, 1);
  EXPECT_EQ(views()[0].last_confirmed_at, std::nullopt);
  EXPECT_EQ(views()[1].owed, 0);
  EXPECT_EQ(views()[1].oldest, std::nullopt);
  EXPECT_NE(views()[1].last_confirmed_at, std::nullopt);
}

TEST_P(SubscriberViewsTest, WhatWasCompletedLongAgoKeepsItsProofAlsoOfWhoIsNoSubscriberAnyMore) {
  emit("e1");
  deliver_all();
  here_->change("UPDATE skald_outbox SET created_at = 1, updated_at = 1");
  here_->db().write("remove", [](Transaction& tx) { tables::subscriber::remove(tx, "there"); });
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::COMPLETED);
  EXPECT_THAT(deliveries("e1"), ElementsAre("there has"));
}

TEST_P(SubscriberViewsTest, LanesAreThoseThatHaveSentOrOwe) {
  EXPECT_THAT(detail("there").lanes, IsEmpty());
  emit("e1");
  deliver_all();
  emit("e2", "another key");
  const auto lanes = detail("there").lanes;
  ASSERT_THAT(lanes, SizeIs(2));
  const auto& confirmed = lanes[partition_of("k") < partition_of("another key") ? 0 : 1];
  const auto& owing = lanes[partition_of("k") < partition_of("another key") ? 1 : 0];
  EXPECT_EQ(confirmed.partition, partition_of("k"));
  EXPECT_EQ(confirmed.last, 1);
  EXPECT_EQ(confirmed.owed, 0);
  EXPECT_NE(confirmed.last_confirmed_at, std::nullopt);
  EXPECT_EQ(owing.last, 0);
  EXPECT_EQ(owing.owed, 1);
  EXPECT_EQ(owing.oldest, here_->entry("e2").created_at);
  EXPECT_EQ(detail("there").oldest, here_->entry("e2").created_at);
}

// A look must cost no more where a receiver has been away for a week.
TEST_P(SubscriberViewsTest, WhatIsOwedIsCountedUpToABound) {
  owe(10'000);
  EXPECT_EQ(views()[0].owed, 10'000);
  EXPECT_FALSE(views()[0].at_least);
  here_->change("UPDATE skald_outbox SET partition = 6, id = 'one' WHERE id = 'many-10000'");
  emit("e1");
  const auto found = detail("there");
  EXPECT_EQ(found.owed, 10'000);
  EXPECT_TRUE(found.at_least);
  EXPECT_EQ(found.oldest, from_micros(1'000'001));
  ASSERT_THAT(found.lanes, SizeIs(3));
  EXPECT_EQ(found.lanes[0].owed, 1'000);
  EXPECT_TRUE(found.lanes[0].at_least);
  EXPECT_EQ(found.lanes[1].owed, 1);
  EXPECT_FALSE(found.lanes[1].at_least);
}

TEST_P(SubscriberViewsTest, WhoHasNotHeardOfARemovalSettlesNothingOfWhoGotItsBit) {
  const Row gone{"there", 0};
  here_->db().write("remove", [](Transaction& tx) { tables::subscriber::remove(tx, "there"); });
  put("new");
  emit("e1");
  ASSERT_EQ(views()[0].owed, 1);
  here_->db().write("settle", [&](Transaction& tx) {
    const tables::subscriber::Landed landed[] = {{partition_of("k"), 1, "", {"e1"}}};
    tables::subscriber::settle(tx, gone, landed);
  });
  EXPECT_EQ(views()[0].owed, 1);
}

}  // namespace
}  // namespace skald::post
