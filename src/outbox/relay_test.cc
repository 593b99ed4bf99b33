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
  void emit(const std::string& id) {
    const Event event{.id = id, .type = "both", .key = "k", .subject = "s", .payload = "{}", .traceparent = ""};
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

}  // namespace
}  // namespace skald::outbox
