// The relay where nobody else can bring it: a partition lost between two of its
// steps. What it does in life is shown by sim/ and tests/.
#include "outbox/relay.h"

#include <gtest/gtest.h>

#include "outbox/integrity.h"
#include "store/tables/schema.h"
#include "support/test_database.h"

namespace skald::outbox {
namespace {

class StandingClock final : public Clock {
 public:
  Time now() const override { return from_micros(1'800'000'000'000'000); }
  Instant steady() const override { return Instant(Duration(1)); }
};

class RecordingBus final : public Bus {
 public:
  void send(Message message, Done) override { sent.push_back(message.event.id); }
  void poll(Duration, std::span<const int>) override {}
  std::size_t in_flight() const override { return 0; }
  std::vector<std::string> sent;
};

class RelayTest : public testing::TestWithParam<Dialect> {
 protected:
  RelayTest() {
    db().migrate(tables::kComponent, tables::migrations());
    routing_.add(Consumer{.name = "c", .type = "both", .handle = [this](Transaction&, const Message&) { ++handled_; }});
    routing_.add(Route{.type = "both", .bus = &bus_});
    membership_.run_once();
  }

  Database& db() { return **database_; }
  void emit(const std::string& id, const std::string& type = "both") {
    const Event event{.id = id, .type = type, .key = "k", .subject = "s", .payload = "{}", .traceparent = ""};
    const tables::outbox::NewEntry entry{&event, content_hash(event, ""), 3};
    db().write("emit", [&](Transaction& tx) { tables::outbox::insert(tx, std::span(&entry, 1)); });
  }
  EntryStatus status_of(const std::string& id) {
    return db().read_result([&](Transaction& tx) { return tables::outbox::find(tx, id)->status; });
  }
  void lose_everything() {
    db().write("take over",
               [](Transaction& tx) { tx.execute("UPDATE skald_partition SET owner = 'another', fence = fence + 1"); });
  }

  StandingClock clock_;
  std::unique_ptr<Random> random_ = system_random();
  Env env_{clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::of(GetParam(), env_);
  OutboxOptions options_;
  RecordingBus bus_;
  Routing routing_;
  int handled_ = 0;
  dead_letter::Undertaker undertaker_{env_, db(), nullptr, [](std::string_view, std::string_view) {}};
  Membership membership_{env_,
                         db(),
                         {"host", 1},
                         GetParam() == Dialect::sqlite ? Membership::Kind::sole : Membership::Kind::leased,
                         options_};
  Relay relay_{env_, db(), membership_, routing_, undertaker_, options_};
};

INSTANTIATE_TEST_SUITE_P(Databases, RelayTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(RelayTest, AnEventGoesThroughItsConsumersAndThenToItsBus) {
  emit("e1");
  relay_.run_once();  // claims
  EXPECT_EQ(status_of("e1"), EntryStatus::PROCESSING);
  relay_.run_once();
  EXPECT_EQ(handled_, 1);
  EXPECT_EQ(bus_.sent, std::vector<std::string>{"e1"});
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

// Offers come from PostgreSQL's notifications only.
class RelayOfferTest : public RelayTest {
 protected:
  RelayOfferTest() {
    routing_.add(Consumer{.name = "c2", .type = "local", .handle = [this](Transaction& tx, const Message& message) {
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
