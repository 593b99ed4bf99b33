// The relay where nobody else can bring it: a partition lost between two of its
// steps. What it does in life is shown by sim/ and tests/.
#include "outbox/relay_fixture.h"

namespace skald::outbox {
namespace {

INSTANTIATE_TEST_SUITE_P(Databases, RelayTest, kBothDatabases, name_of);

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
