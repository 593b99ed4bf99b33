#include "post/reconciliation.h"

#include "post/post_fixture.h"
#include "store/tables/audit.h"

namespace skald::post {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class ReconciliationTest : public PostTest {
 protected:
  // The receiver's database as it was before the letters of these events.
  void restore_receiver(const std::string& ids, std::int64_t number, const std::string& chain) {
    there_->change("DELETE FROM skald_outbox WHERE id IN (" + ids + ")");
    there_->change("DELETE FROM skald_inbox WHERE event_id IN (" + ids + ")");
    there_->change("UPDATE skald_landing SET ids = '[]', former = '', number = " + std::to_string(number) +
                   ", chain = '" + chain + "'");
  }
  std::vector<tables::audit::Record> audit(const std::string& action) {
    return here_->db().read_result([&](Transaction& tx) {
      return tables::audit::list(tx, {.actor = {}, .action = action, .target = {}}, {}, 10);
    });
  }
  std::string told(const std::string& id) {
    const Entry entry = here_->entry(id);
    const auto found =
        here_->db().read_result([&](Transaction& tx) { return tables::subscriber::deliveries(tx, entry); });
    if (found.size() != 1) return "";
    return tables::subscriber::told(found[0]) + ", " + tables::subscriber::proof_of(found[0], 3);
  }
  LanePlace receivers_place() {
    return there_->db().read_result([](Transaction& tx) {
      const Rows rows = tx.query("SELECT number, chain FROM skald_landing");
      return LanePlace{rows.get<std::int64_t>(0, 0), rows.get<std::string>(0, 1)};
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, ReconciliationTest, kBothDatabases, name_of);

TEST_P(ReconciliationTest, WhatARestoredReceiverHasLostIsSentAgainAndAPersonIsTold) {
  emit("e1");
  deliver_all();
  const LanePlace backup = receivers_place();
  emit("e2");
  deliver_all();
  emit("e3");
  deliver_all();
  restore_receiver("'e2', 'e3'", backup.number, backup.chain);
  emit("e4");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2", "e3", "e2", "e3", "e4"));
  EXPECT_EQ(owed(), 0);
  ASSERT_THAT(alerts_, SizeIs(1));
  EXPECT_THAT(alerts_[0], HasSubstr("2 events are sent again"));
  const auto noted = audit("post.gap");
  ASSERT_THAT(noted, SizeIs(1));
  EXPECT_EQ(noted[0].target, "there");
  EXPECT_EQ("POST_GAP " + noted[0].detail, alerts_[0]);
  EXPECT_EQ(observer_.counts["post_gaps_total{subscriber=there}"], 1);
}

// The reconciliation asks, and another worker goes on with the lane before it is through.
TEST_P(ReconciliationTest, WhatAnotherWorkerHasReconciledIsNotNotedAgain) {
  emit("e1");
  deliver_all();
  restore_receiver("'e1'", 0, "");
  pass(61s);
  bool moved = false;
  courier_.knower = [&](const Inquiry& inquiry) {
    if (!inquiry.ids.empty() && !std::exchange(moved, true))
      here_->change("UPDATE skald_lane SET number = 7, chain = 'other' WHERE number = 1");
    return there_->lander_.answer(inquiry);
  };
  run();
  EXPECT_TRUE(moved);
  EXPECT_THAT(audit("post.gap"), IsEmpty());
}

TEST_P(ReconciliationTest, ARestoredReceiverIsNoticedWithoutAnythingNewToSend) {
  emit("e1");
  deliver_all();
  restore_receiver("'e1'", 0, "");
  pass(61s);
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e1"));
}

// The numbers agree, and what stands behind them does not.
TEST_P(ReconciliationTest, OtherLettersUnderTheSameNumberAreNoticedByTheChain) {
  emit("e1");
  deliver_all();
  restore_receiver("'e1'", 1, "other");
  emit("e2");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e1", "e2"));
  EXPECT_THAT(alerts_, SizeIs(1));
}

TEST_P(ReconciliationTest, ARestoredSenderSettlesWhatHasArrivedAndSendsNothingTwice) {
  emit("e1");
  deliver_all();
  emit("e2");
  deliver_all();
  emit("e3");
  deliver_all();
  here_->change("UPDATE skald_lane SET number = 0, chain = ''");
  here_->change("UPDATE skald_outbox SET owed = 1, status = 0, proof = ''");
  begin_sender();
  emit("e4");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2", "e3", "e4"));
  EXPECT_EQ(owed(), 0);
  ASSERT_THAT(alerts_, SizeIs(1));
  EXPECT_THAT(alerts_[0], HasSubstr("3 had arrived"));
}

TEST_P(ReconciliationTest, ARestoredSenderIsNoticedWithoutAnythingNewToSend) {
  emit("e1");
  deliver_all();
  const LanePlace backup = receivers_place();
  emit("e2");
  deliver_all();
  here_->change("UPDATE skald_lane SET number = " + std::to_string(backup.number) + ", chain = '" + backup.chain +
                "' WHERE number > 0");
  here_->change("DELETE FROM skald_outbox WHERE id = 'e2'");
  begin_sender();
  run();
  ASSERT_THAT(alerts_, SizeIs(1)) << "the receiver is one letter ahead, and none is under way";
  EXPECT_THAT(alerts_[0], HasSubstr("POST_GAP"));
  emit("e3");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2", "e3"));
  EXPECT_THAT(alerts_, SizeIs(1));
}

TEST_P(ReconciliationTest, AReceiverThatHasALetterWithoutAnAnswerIsNoRestoredOne) {
  emit("e1");
  run();
  accept(take_sent().letter);
  begin_sender();
  run();
  EXPECT_THAT(alerts_, IsEmpty());
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1"));
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_P(ReconciliationTest, AReceiverThatIsRestoredBetweenTwoPagesIsComparedFromTheStart) {
  here_->db().write("emit many", [](Transaction& tx) {
    for (int i = 1000; i < 1600; ++i)
      tx.emit({.id = "e" + std::to_string(i), .type = "order.placed", .key = "k", .payload = "{}"});
  });
  sender_->wake(~std::uint64_t{0});
  deliver_all();
  there_->handled.clear();
  restore_receiver("'e1599'", 2, "a copy");
  courier_.knower = [this, again = false](const Inquiry& inquiry) mutable {
    Knowledge known = there_->lander_.answer(inquiry);
    if (!inquiry.ids.empty() && !std::exchange(again, true)) restore_receiver("'e1000'", 1, "an older copy");
    return known;
  };
  pass(61s);
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1000", "e1599"));
  ASSERT_THAT(alerts_, SizeIs(1));
  EXPECT_THAT(alerts_[0], HasSubstr("up to 1 of"));
}

TEST_P(ReconciliationTest, AnAnswerWithEventsThatThisDatabaseNeverHadIsToldToAPerson) {
  emit("e1");
  run();
  accept(take_sent().letter);
  here_->change("DELETE FROM skald_outbox WHERE id = 'e1'");  // as a copy from before it has it
  begin_sender();
  emit("e2");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2"));
  ASSERT_THAT(alerts_, SizeIs(1));
  EXPECT_THAT(alerts_[0], HasSubstr("POST_STRANGE"));
  ASSERT_THAT(audit("post.strange"), SizeIs(1));
  EXPECT_THAT(audit("post.strange")[0].detail, HasSubstr("has 1 events that this database does not know"));
}

TEST_P(ReconciliationTest, WhatTheReceiverMayHaveForgottenIsNotSentAgain) {
  emit("e1");
  deliver_all();
  here_->change("UPDATE skald_outbox SET created_at = created_at - 900000000000");  // over ten days
  restore_receiver("'e1'", 0, "");
  emit("e2");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2"));
  ASSERT_THAT(alerts_, SizeIs(1));
  EXPECT_THAT(alerts_[0], HasSubstr("1 are too old"));
}

TEST_P(ReconciliationTest, TheProofSaysWhatIsTrueAfterARestore) {
  emit("e1");
  deliver_all();
  EXPECT_THAT(told("e1"), MatchesRegex("there has it, since 20.*, letter 1 of partition 3"));
  restore_receiver("'e1'", 0, "");
  pass(61s);
  run();
  EXPECT_THAT(told("e1"), MatchesRegex("owed to there again, it had it since 20.*, letter 1 of partition 3"));
  deliver_all();
  EXPECT_THAT(told("e1"), MatchesRegex("there has it, since 20.*, letter 1 of partition 3"));
  emit("e2");
  deliver_all();
  here_->change("UPDATE skald_lane SET number = 0, chain = ''");
  here_->change("UPDATE skald_outbox SET owed = 1, status = 0, proof = ''");
  begin_sender();
  deliver_all();
  EXPECT_THAT(told("e1"), MatchesRegex("there has it, since 20.*, found there when what both have was compared"));
}

}  // namespace
}  // namespace skald::post
