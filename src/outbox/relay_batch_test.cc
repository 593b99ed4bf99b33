// What fails, and what is handled after a death, in batches.
#include <gmock/gmock.h>

#include "outbox/relay_fixture.h"

namespace skald::outbox {
namespace {

using testing::ElementsAre;

constexpr char kKey[] = "k";

class RelayBatchTest : public RelayTest {
 protected:
  RelayBatchTest() {
    routing_.add(Consumer{.name = "f", .type = "fickle", .handle = [this](Transaction&, const Message& message) {
                            if (message.event.id == failing_) throw std::runtime_error("not now");
                          }});
  }
  std::string failing_;
  static std::uint64_t bit() { return std::uint64_t{1} << partition_of(kKey); }
};
INSTANTIATE_TEST_SUITE_P(Databases, RelayBatchTest, kBothDatabases, name_of);

TEST_P(RelayBatchTest, AFailureIsSettledAtOnceWithItsAttempt) {
  bus_.answers = true;
  bus_.answer = Outcome::failed("not now");
  emit("e1", "sent");
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::FAILED);
  EXPECT_EQ(entry("e1").attempts, 1);
}

TEST_P(RelayBatchTest, AFailureIsOneWarningWithItsReasonAndItsNextTry) {
  bus_.answers = true;
  bus_.answer = Outcome::failed("the receiver answered 503");
  emit("e1", "sent", "k");
  run();
  auto lines = spans_.lines();
  std::erase_if(lines, [](const auto& line) { return line.fields.find("[Outbox]") == line.fields.npos; });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].level, Observer::Level::warn);
  const auto fields = json::parse(lines[0].fields).as_object();
  EXPECT_EQ(fields.at("tag"), "[Outbox]");
  EXPECT_EQ(fields.at("event"), "e1");
  EXPECT_EQ(fields.at("key"), "k");
  EXPECT_EQ(fields.at("attempt").as_int64(), 1);
  EXPECT_EQ(fields.at("of").as_int64(), 4);
  EXPECT_EQ(fields.at("error"), "the receiver answered 503");
  EXPECT_EQ(fields.at("nextRetryAt"), format_time(entry("e1").next_retry_at).c_str());
}

TEST_P(RelayBatchTest, WhereAnOwnerDiedWhatIsHandledIsClaimedTogetherFirst) {
  run();
  ASSERT_NE(relay_.orderly() & bit(), 0u);
  relay_.be_careful(bit());
  for (const char* id : {"e1", "e2"}) emit(id, "local");
  while (status_of("e2") == EntryStatus::PENDING) relay_.run_once();
  EXPECT_EQ(status_of("e1"), EntryStatus::PROCESSING);
  EXPECT_EQ(status_of("e2"), EntryStatus::PROCESSING);
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(relay_.orderly() & bit(), 0u);
  run();
  EXPECT_EQ(handled_, 2);
  EXPECT_EQ(status_of("e2"), EntryStatus::COMPLETED);
  EXPECT_EQ(entry("e2").attempts, 1);
  EXPECT_NE(relay_.orderly() & bit(), 0u) << "it has been looked through";
}

TEST_P(RelayBatchTest, WhereOneOfManyThatWereClaimedFailsTheOthersAreHandled) {
  run();
  relay_.be_careful(bit());
  failing_ = "e2";
  emit("e1", "fickle");
  emit("e2", "fickle", "k");
  emit("e3", "fickle", "k");
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED);
  EXPECT_EQ(status_of("e2"), EntryStatus::FAILED);
  EXPECT_EQ(entry("e2").attempts, 1);
  EXPECT_EQ(status_of("e3"), EntryStatus::FAILED) << "its key waits";
  EXPECT_EQ(entry("e3").attempts, 0);
  EXPECT_EQ(entry("e3").crashes, 0);
}

TEST_P(RelayBatchTest, LocalEventsBesideSendsAreHandledUnderTheFence) {
  emit("e1", "local", "other");
  emit("e2", "sent");
  run();
  EXPECT_EQ(status_of("e1"), EntryStatus::COMPLETED);
  EXPECT_EQ(handled_, 1);
  EXPECT_THAT(bus_.sent, ElementsAre("e2"));
  lose_everything();
  emit("e3", "local", "other");
  emit("e4", "sent");
  run();
  EXPECT_EQ(handled_, 1);
  EXPECT_THAT(bus_.sent, ElementsAre("e2"));
}

}  // namespace
}  // namespace skald::outbox
