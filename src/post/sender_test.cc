#include "post/sender.h"

#include "post/post_fixture.h"

namespace skald::post {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Courier::Answer::Kind;

class SenderTest : public PostTest {};
INSTANTIATE_TEST_SUITE_P(Databases, SenderTest, kBothDatabases, name_of);

TEST_P(SenderTest, AnEventIsOwedUntilTheReceiverHasCommittedItAndSaidSo) {
  emit("e1");
  run();
  ASSERT_THAT(courier_.sent, SizeIs(1));
  const auto sent = take_sent();
  EXPECT_EQ(sent.to, "there");
  EXPECT_EQ(sent.letter.number, 1);
  EXPECT_THAT(sent.letter.ids, ElementsAre("e1"));
  EXPECT_EQ(owed(), 1);
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::PENDING);
  answer(sent, accept(sent.letter));
  pass(100ms);
  run();
  EXPECT_EQ(owed(), 0);
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::COMPLETED);
  EXPECT_THAT(here_->entry("e1").proof, testing::StartsWith("there 1 "));
  EXPECT_THAT(there_->handled, ElementsAre("e1"));
  EXPECT_EQ(there_->entry("e1").source, "/here");
}

TEST_P(SenderTest, OneLetterOfALaneIsUnderWayAndTheNextTakesAllThatCameMeanwhile) {
  emit("e1");
  run();
  emit("e2");
  emit("e3");
  run();
  ASSERT_THAT(courier_.sent, SizeIs(1));
  const auto first = take_sent();
  answer(first, accept(first.letter));
  run();
  ASSERT_THAT(courier_.sent, SizeIs(1)) << "settled at once, since something waits for it";
  const auto second = take_sent();
  EXPECT_EQ(second.letter.number, 2);
  EXPECT_THAT(second.letter.ids, ElementsAre("e2", "e3"));
  answer(second, accept(second.letter));
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2", "e3"));
}

TEST_P(SenderTest, ALetterWithoutAnAnswerIsSentAgainUnderItsNumberAndLandsOnce) {
  emit("e1");
  run();
  const auto lost = take_sent();
  accept(lost.letter);
  lost.answered({Kind::silence});
  pass(5s);
  emit("e2");
  run();
  const auto again = take_sent();
  EXPECT_EQ(again.letter.number, 1);
  EXPECT_TRUE(again.letter.again);
  const Receipt receipt = accept(again.letter);
  EXPECT_THAT(receipt.ids, ElementsAre("e1")) << "those of the letter that landed, not of the one that came now";
  answer(again, receipt);
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2"));
  EXPECT_EQ(owed(), 0);
}

TEST_P(SenderTest, AfterARestartTheLetterInDoubtIsAnsweredFromTheStoredIds) {
  emit("e1");
  run();
  accept(take_sent().letter);
  emit("e2");
  begin_sender();
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2"));
  EXPECT_EQ(owed(), 0);
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_P(SenderTest, AnAnswerThatComesLateSettlesNothingTwice) {
  emit("e1");
  run();
  const auto first = take_sent();
  const Receipt receipt = accept(first.letter);
  const auto stopped = std::move(sender_);
  begin_sender();  // takes the partition over
  emit("e2");
  deliver_all();
  answer(first, receipt);
  pass(100ms);
  while (stopped->run_once() == Duration::zero()) {}
  EXPECT_THAT(courier_.sent, IsEmpty()) << "it finds that nothing is owed";
  emit("e3");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2", "e3"));
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_P(SenderTest, ADoubledLetterOfAnEarlierNumberLandsNothing) {
  emit("e1");
  run();
  const Letter old = courier_.sent.front().letter;
  deliver_all();
  emit("e2");
  deliver_all();
  EXPECT_EQ(accept(old).kind, Receipt::Kind::gap);
  EXPECT_EQ(accept(old).last, 2);
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2"));
}

TEST_P(SenderTest, AReceiverThatIsAwayCostsNoAttemptAndTheLaneWaitsLongerEachTime) {
  emit("e1");
  Duration waited{};
  for (int i = 0; i < 12; ++i) {
    run();
    ASSERT_THAT(courier_.sent, SizeIs(1));
    take_sent().answered({Kind::nobody});
    const Duration idle = sender_->run_once();
    EXPECT_GT(idle, Duration::zero());
    EXPECT_LE(idle, 1s);
    pass(5s);
    waited += 5s;
  }
  EXPECT_EQ(here_->entry("e1").attempts, 0);
  EXPECT_THAT(sender_->troubles().at("there"), HasSubstr("nobody takes its letters"));
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1"));
  EXPECT_THAT(sender_->troubles(), IsEmpty());
}

TEST_P(SenderTest, OtherLanesGoOnAtOnceWhenOneReachesTheReceiverAgain) {
  emit("e1", "k");
  emit("e2", "l");
  ASSERT_NE(partition_of("k"), partition_of("l"));
  for (int i = 0; i < 8; ++i) {
    run();
    while (!courier_.sent.empty()) take_sent().answered({Kind::nobody});
    pass(5s);
  }
  run();
  ASSERT_THAT(courier_.sent, SizeIs(2));
  const auto first = take_sent(), second = take_sent();
  second.answered({Kind::nobody});
  answer(first, accept(first.letter));
  run();
  EXPECT_THAT(courier_.sent, SizeIs(1)) << "it does not wait for its pause";
}

TEST_P(SenderTest, WhatTheReceiversHandlerRefusesIsTheReceiversDeadLetter) {
  there_->refused = "e1";
  emit("e1");
  emit("e2", "l");
  deliver_all();
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::COMPLETED);
  EXPECT_EQ(there_->entry("e1").status, EntryStatus::DEAD_LETTER);
  EXPECT_THAT(there_->handled, ElementsAre("e2"));
}

TEST_P(SenderTest, ALetterTakesAtMost256EventsAndTheOrderOfAKeyHolds) {
  std::vector<std::string> ids;
  here_->db().write("emit many", [&](Transaction& tx) {
    for (int i = 0; i < 600; ++i) {
      ids.push_back("e" + std::to_string(1000 + i));
      tx.emit({.id = ids.back(), .type = "order.placed", .key = "k", .payload = "{}"});
    }
  });
  sender_->wake(~std::uint64_t{0});
  run();
  EXPECT_THAT(courier_.sent.front().letter.ids, SizeIs(256));
  deliver_all();
  EXPECT_EQ(there_->handled, ids);
}

TEST_P(SenderTest, ALargeEventGoesAloneAndNoLetterIsMuchLarger) {
  const std::string large = "\"" + std::string(400 * 1024, 'x') + "\"";
  here_->db().write("emit", [&](Transaction& tx) {
    for (const char* id : {"e1", "e2", "e3"}) tx.emit({.id = id, .type = "order.placed", .key = "k", .payload = large});
  });
  sender_->wake(~std::uint64_t{0});
  run();
  EXPECT_THAT(courier_.sent.front().letter.ids, ElementsAre("e1"));
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e2", "e3"));
}

TEST_P(SenderTest, OnlyWhatMatchesIsOwedAndWhatNobodyWantsIsTheRelays) {
  emit("e1", "k", "donation.made");
  run();
  EXPECT_THAT(courier_.sent, IsEmpty());
  EXPECT_EQ(owed(), 0);
  here_->relay_.wake(~std::uint64_t{0});
  here_->run_relay();
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::COMPLETED);
}

TEST_P(SenderTest, WhatAnEarlierProgramLeftLiveBecomesOwed) {
  emit("e1");
  here_->change("UPDATE skald_outbox SET owed = NULL, live = 1");
  here_->relay_.wake(~std::uint64_t{0});
  here_->run_relay();
  EXPECT_EQ(owed(), 1);
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1"));
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::COMPLETED);
}

TEST_P(SenderTest, WhatWasTamperedWithIsADeadLetterAndHoldsUpNothing) {
  emit("e1");
  emit("e2");
  here_->change("UPDATE skald_outbox SET payload = '[]' WHERE id = 'e1'");
  deliver_all();
  here_->relay_.wake(~std::uint64_t{0});
  here_->run_relay();
  EXPECT_EQ(here_->entry("e1").status, EntryStatus::DEAD_LETTER);
  EXPECT_THAT(there_->handled, ElementsAre("e2"));
}

TEST_P(SenderTest, ANewSubscriberMayHaveWhatIsStillKept) {
  here_->db().write("remove", [](Transaction& tx) { tables::subscriber::remove(tx, "there"); });
  emit("e1");
  here_->relay_.wake(~std::uint64_t{0});
  here_->run_relay();
  here_->db().write("subscribe", [](Transaction& tx) {
    tables::subscriber::put(tx, {.name = "there", .types = {"order.placed"}, .from = Subscriber::From::beginning});
  });
  pass(2s);
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1"));
}

// A version before this one gave it to a broker, and nobody knows what that has lost since.
TEST_P(SenderTest, WhatAnEarlierProgramCountedAsDeliveredIsSentOnceMoreAndKnownAgain) {
  emit("e1");
  deliver_all();
  emit("e2", "k", "order.cancelled");
  deliver_all();
  here_->db().write("unsubscribe", [](Transaction& tx) { tables::subscriber::remove(tx, "there"); });
  here_->change("UPDATE skald_outbox SET status = 3, live = 0, owed = NULL, proof = ''");
  there_->change("DELETE FROM skald_outbox WHERE id = 'e2'");  // lost on its way
  there_->change("DELETE FROM skald_inbox WHERE event_id = 'e2'");
  there_->handled.clear();
  here_->db().write("subscribe", [](Transaction& tx) {
    tables::subscriber::put(tx, {.name = "there", .types = {"order.*"}, .from = Subscriber::From::beginning});
  });
  EXPECT_EQ(owed(), 2);
  begin_sender();
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e2"));
  EXPECT_EQ(owed(), 0);
}

TEST_P(SenderTest, AReceiverThatIsAwayForLongerThanAnyRetentionGetsEachEventOnceAndInOrder) {
  std::vector<std::string> all;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) {
      all.push_back("e" + std::to_string(1000 + 100 * round + i));
      emit(all.back());
    }
    run();
    while (!courier_.sent.empty()) take_sent().answered({Kind::nobody});
    begin_sender();  // another process, each round
    here_->change("UPDATE skald_outbox SET created_at = 0, updated_at = 0");
    here_->db().write("forget", [this](Transaction& tx) {
      EXPECT_EQ(tables::outbox::forget_completed(tx, tx.now() - here_->options_.retention, 10'000), 0);
    });
  }
  deliver_all();
  EXPECT_EQ(there_->handled, all);
  EXPECT_EQ(owed(), 0);
}

TEST_P(SenderTest, ASubscriberThatIsRemovedIsOwedNothingAndOneOfItsNameGoesOnWithTheNumbers) {
  emit("e1");
  deliver_all();
  emit("e2");
  EXPECT_EQ(here_->db().write_result("remove", [](Transaction& tx) { return tables::subscriber::remove(tx, "there"); }),
            1);
  EXPECT_EQ(here_->entry("e2").status, EntryStatus::COMPLETED);
  subscribe();
  pass(2s);
  emit("e3");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1", "e3"));
  EXPECT_THAT(alerts_, IsEmpty());
}

TEST_P(SenderTest, AnEventWhoseWakeUpIsLostIsFoundWithinASecond) {
  here_->db().write(
      "emit", [](Transaction& tx) { tx.emit({.id = "e1", .type = "order.placed", .key = "k", .payload = "{}"}); });
  run();
  EXPECT_THAT(courier_.sent, IsEmpty()) << "nobody has told it";
  pass(1s);
  run();
  EXPECT_THAT(courier_.sent, SizeIs(1));
}

// The answer comes once: it must not be lost where the database is away at that moment.
TEST_P(SenderTest, AnAnswerThatDoesNotFitIsJudgedWhenTheDatabaseIsThereAgain) {
  emit("e1");
  run();
  const auto sent = take_sent();
  here_->change("ALTER TABLE skald_lane RENAME TO skald_lane_away");
  EXPECT_NO_THROW(sent.answered({Courier::Answer::Kind::receipt, {Receipt::Kind::gap, 7, "c"}}));
  EXPECT_GT(sender_->run_once(), Duration::zero()) << "it tries again after a pause";
  here_->change("ALTER TABLE skald_lane_away RENAME TO skald_lane");
  deliver_all();
  EXPECT_THAT(there_->handled, ElementsAre("e1"));
}

TEST_P(SenderTest, WhoIsDrainedWaitsForAnswersThoughMoreIsOwed) {
  emit("e1");
  run();
  emit("e2");
  const auto sent = take_sent();
  sender_->drain();
  sent.answered({Courier::Answer::Kind::silence});
  pass(10s);
  EXPECT_GT(sender_->run_once(), Duration::zero());
  EXPECT_GT(sender_->run_once(), Duration::zero()) << "it must not spin over what it will not send";
  EXPECT_THAT(courier_.sent, IsEmpty());
}

TEST_P(SenderTest, WhoHasLostThePartitionSettlesNothingOverItsNewOwner) {
  emit("e1");
  run();
  const auto first = take_sent();
  const Receipt receipt = accept(first.letter);
  here_->change("UPDATE skald_lane SET number = 7, chain = 'other' WHERE partition = " +
                std::to_string(partition_of("k")));
  answer(first, receipt);
  pass(100ms);
  run();
  EXPECT_EQ(owed(), 1) << "by the number that it found, it is no longer its turn";
}

}  // namespace
}  // namespace skald::post
