#include "skald/analyser.h"

#include <gmock/gmock.h>

#include "isolation/analyser_fixture.h"

namespace skald::analyser {
namespace {

using testing::HasSubstr;

TEST(DirtyRead, IsPossibleWhereTheWriterCanStillUndo) {
  const Report report = analysed(reserving(), reading());
  const Finding* found = find(report, Anomaly::dirty_read, "look", "reserve");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, Severity::error);
  EXPECT_EQ(found->first, (Place{"look", "decide"}));
  EXPECT_EQ(found->second, (Place{"reserve", "reserve"}));
  EXPECT_EQ(found->resource, "stock");
  EXPECT_THAT(found->advice.value(), HasSubstr("hold stock in look from 'decide' on and reserve from 'reserve' on"));
  EXPECT_EQ(report.worst(), 1);
}

TEST(DirtyRead, IsImpossibleBehindThePivotAndInASagaOfOneStep) {
  const auto behind = saga("late").remote("charge", call).pivot().local("book", work).writes("stock");
  const auto single = saga("one").local("book", work).undo(work).writes("stock");
  const auto forward = saga("on").local("book", work).writes("stock").local("tell", work).forward_only();
  const Report report = analysed(behind, single, forward, reading());
  for (const char* writer : {"late", "one", "on"})
    EXPECT_EQ(cover(report, Anomaly::dirty_read, "look", writer), "impossible") << writer;
}

TEST(DirtyRead, OneOfSeveralElementsIsSeenBeforeTheNextRefuses) {
  auto several = saga("several").local("book", work).undo(work).writes("stock");
  saga::Definition definition = several.definition();
  definition.steps[0].count = [](const void*) { return std::size_t{2}; };
  const auto look = reading();
  const Report report = analyse({std::cref(definition), std::cref(look.definition())});
  EXPECT_EQ(cover(report, Anomaly::dirty_read, "look", "several"), "nothing");
}

TEST(DirtyRead, IsAWarningWhereOnlyASplitGroupShowsIt) {
  const auto fused = saga("fused").local("book", work).undo(work).writes("stock").local("end", work).pivot();
  const auto split = saga("split").local("book", work).undo(work).writes("stock").commit().local("end", work).pivot();
  const Report report = analysed(fused, split, reading());
  EXPECT_EQ(find(report, Anomaly::dirty_read, "look", "fused")->severity, Severity::warning);
  EXPECT_EQ(find(report, Anomaly::dirty_read, "look", "split")->severity, Severity::error);
}

TEST(DirtyRead, IsCoveredBySemanticLocksAndTheVersionFileButNotByRereading) {
  auto writer = saga("reserve").local("reserve", work).undo(work).writes("stock");
  writer.holds("stock", &Work::sku, exclusive).remote("charge", call).pivot();
  const Report locked = analysed(writer, reading().holds("stock", &Work::sku, shared));
  EXPECT_EQ(cover(locked, Anomaly::dirty_read, "look", "reserve"), "semantic lock");
  EXPECT_EQ(cover(analysed(reserving(), reading(Guard::version_file)), Anomaly::dirty_read, "look", "reserve"),
            "version file");
  for (const Guard guard : {Guard::reread, Guard::optimistic, Guard::row_lock})
    EXPECT_EQ(cover(analysed(reserving(), reading(guard)), Anomaly::dirty_read, "look", "reserve"), "nothing");
  EXPECT_THAT(*find(analysed(reserving(), reading(Guard::reread)), Anomaly::dirty_read, "look", "reserve")->advice,
              HasSubstr("comes too early"));
}

TEST(SemanticLock, CountsOnlyFromItsStepOnAndNotWhereItMayBeLeftOut) {
  const auto reader = reading().holds("stock", &Work::sku, exclusive);
  const auto late = saga("reserve")
                        .local("reserve", work)
                        .undo(work)
                        .writes("stock")
                        .local("lock", work)
                        .nothing_to_undo()
                        .holds("stock", &Work::sku, exclusive)
                        .remote("charge", call)
                        .pivot();
  EXPECT_EQ(cover(analysed(late, reader), Anomaly::dirty_read, "look", "reserve"), "nothing");
  auto sometimes = saga("reserve").local("lock", work).nothing_to_undo().holds("stock", &Work::sku, exclusive);
  sometimes.when([](const Work& w) { return !w.sku.empty(); });
  sometimes.local("reserve", work).undo(work).writes("stock").remote("charge", call).pivot();
  EXPECT_EQ(cover(analysed(sometimes, reader), Anomaly::dirty_read, "look", "reserve"), "nothing");
}

TEST(SemanticLock, DoesNotCountWhereBothShareOrTheStateDecides) {
  const auto share = saga("reserve")
                         .local("reserve", work)
                         .undo(work)
                         .writes("stock")
                         .holds("stock", &Work::sku, shared)
                         .remote("charge", call)
                         .pivot();
  const Report shares = analysed(share, reading().holds("stock", &Work::sku, shared));
  EXPECT_EQ(cover(shares, Anomaly::dirty_read, "look", "reserve"), "nothing");
  EXPECT_THAT(*find(shares, Anomaly::dirty_read, "look", "reserve")->advice, HasSubstr("hold it exclusively"));

  const auto wish = saga("reserve")
                        .local("reserve", work)
                        .undo(work)
                        .writes("stock")
                        .holds(
                            "stock", &Work::sku, [](const Work&) { return std::optional(exclusive); },
                            [](const Work&) { return wait_up_to(2s); })
                        .remote("charge", call)
                        .pivot();
  const Report may = analysed(wish, reading().holds("stock", &Work::sku, exclusive));
  EXPECT_EQ(cover(may, Anomaly::dirty_read, "look", "reserve"), "nothing");
  EXPECT_THAT(*find(may, Anomaly::dirty_read, "look", "reserve")->advice, HasSubstr("depends on the state"));
}

TEST(SemanticLock, OfAFixedModeStaysWhereALaterOneDependsOnTheState) {
  const auto wish = saga("reserve")
                        .local("begin", work)
                        .nothing_to_undo()
                        .holds("stock", &Work::sku, shared)
                        .local("reserve", work)
                        .undo(work)
                        .writes("stock")
                        .holds(
                            "stock", &Work::sku, [](const Work&) { return std::optional(exclusive); },
                            [](const Work&) { return wait_up_to(2s); })
                        .remote("charge", call)
                        .pivot();
  EXPECT_EQ(
      cover(analysed(wish, reading().holds("stock", &Work::sku, exclusive)), Anomaly::dirty_read, "look", "reserve"),
      "semantic lock");
}

TEST(LostUpdate, IsPossibleBetweenTheStepThatReadsAndTheOneThatWrites) {
  const Report report = analysed(updating(), setting());
  const Finding* found = find(report, Anomaly::lost_update, "update", "set");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, Severity::error);
  EXPECT_EQ(found->first.step, "save");
  EXPECT_THAT(found->explanation, HasSubstr("'see'"));
  EXPECT_THAT(*found->advice, testing::StartsWith("hold stock in update from 'see' on"));
  EXPECT_EQ(cover(report, Anomaly::lost_update, "update", "update"), "nothing");
  EXPECT_EQ(cover(report, Anomaly::lost_update, "set", "update"), "impossible") << "it writes without looking";
}

TEST(LostUpdate, IsCoveredByWritesThatCommuteCheckOrAppend) {
  const auto by = [](Guard guard, Guard others = Guard::optimistic) {
    return cover(analysed(updating(guard), setting(others)), Anomaly::lost_update, "update", "set");
  };
  EXPECT_EQ(by(Guard::commutative, Guard::none), "commutative update");
  EXPECT_EQ(by(Guard::version_file, Guard::none), "version file");
  EXPECT_EQ(by(Guard::idempotency_key, Guard::none), "idempotency key");
  EXPECT_EQ(by(Guard::reread), "reread");
  EXPECT_EQ(by(Guard::optimistic), "optimistic lock");
  EXPECT_EQ(by(Guard::optimistic, Guard::commutative), "optimistic lock");
  EXPECT_EQ(by(Guard::row_lock), "nothing");
}

TEST(LostUpdate, AVersionCheckNeedsOthersWhoRaiseTheVersion) {
  const Report report = analysed(updating(Guard::optimistic), setting());
  EXPECT_EQ(cover(report, Anomaly::lost_update, "update", "set"), "nothing");
  EXPECT_THAT(*find(report, Anomaly::lost_update, "update", "set")->advice,
              HasSubstr("let set 'set' raise the version"));
}

TEST(LostUpdate, IsCoveredByARowLockOnlyInsideOfOneLocalStep) {
  const auto inside = saga("inside").local("change", work).undo(work).reads("stock", Guard::row_lock).writes("stock");
  const auto plain = saga("plain").local("change", work).undo(work).reads("stock").writes("stock");
  const auto fused = saga("fused")
                         .local("see", work)
                         .nothing_to_undo()
                         .reads("stock", Guard::row_lock)
                         .local("save", work)
                         .undo(work)
                         .writes("stock");
  const auto remote =
      saga("remote").remote("change", call).nothing_to_undo().reads("stock", Guard::row_lock).writes("stock");
  const auto unlocked = saga("unlocked")
                            .local("see", work)
                            .nothing_to_undo()
                            .reads("stock")
                            .local("save", work)
                            .undo(work)
                            .writes("stock");
  const Report report = analysed(inside, plain, fused, unlocked, remote, setting());
  EXPECT_EQ(cover(report, Anomaly::lost_update, "inside", "set"), "row lock");
  EXPECT_EQ(find(report, Anomaly::lost_update, "plain", "set")->severity, Severity::error);
  EXPECT_EQ(find(report, Anomaly::lost_update, "fused", "set")->severity, Severity::warning);
  EXPECT_EQ(find(report, Anomaly::lost_update, "unlocked", "set")->severity, Severity::error);
  EXPECT_THAT(*find(report, Anomaly::lost_update, "fused", "set")->advice, HasSubstr("ends with its transaction"));
  EXPECT_EQ(cover(report, Anomaly::lost_update, "remote", "set"), "nothing");
}

TEST(LostUpdate, IsCoveredByALockFromTheReadOnButNotFromTheWriteOn) {
  const auto other = setting().holds("stock", &Work::sku, exclusive);
  const auto early = saga("update")
                         .local("see", work)
                         .nothing_to_undo()
                         .reads("stock")
                         .holds("stock", &Work::sku, exclusive)
                         .remote("ask", call)
                         .pivot()
                         .local("save", work)
                         .writes("stock");
  EXPECT_EQ(cover(analysed(early, other), Anomaly::lost_update, "update", "set"), "semantic lock");
  EXPECT_EQ(
      cover(analysed(updating().holds("stock", &Work::sku, exclusive), other), Anomaly::lost_update, "update", "set"),
      "nothing");
}

TEST(NonRepeatableRead, IsPossibleWhereTwoStepsReadAndCoveredWhereTheSecondChecks) {
  const auto twice = [](Guard guard) {
    return saga("twice")
        .local("see", work)
        .nothing_to_undo()
        .reads("stock")
        .remote("ask", call)
        .nothing_to_undo()
        .local("look again", work)
        .nothing_to_undo()
        .reads("stock", guard);
  };
  const Report plain = analysed(twice(Guard::none), setting());
  const Finding* found = find(plain, Anomaly::non_repeatable_read, "twice", "set");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, Severity::error);
  EXPECT_EQ(found->first.step, "look again");
  const auto by = [&](Guard guard, Guard others) {
    return cover(analysed(twice(guard), setting(others)), Anomaly::non_repeatable_read, "twice", "set");
  };
  EXPECT_EQ(by(Guard::reread, Guard::commutative), "reread");
  EXPECT_EQ(by(Guard::reread, Guard::none), "nothing");
  EXPECT_EQ(by(Guard::row_lock, Guard::none), "nothing");
  EXPECT_EQ(cover(analysed(reading(), setting()), Anomaly::non_repeatable_read, "look", "set"), "impossible");
}

TEST(DirtyUndo, IsPossibleWhereAnotherWritesBeforeTheUndo) {
  const Report report = analysed(reserving(), setting());
  const Finding* found = find(report, Anomaly::dirty_undo, "reserve", "set");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, Severity::error);
  EXPECT_EQ(cover(report, Anomaly::dirty_undo, "set", "reserve"), "impossible");
  EXPECT_EQ(cover(analysed(reserving(Guard::optimistic), setting()), Anomaly::dirty_undo, "reserve", "set"), "nothing");
}

TEST(DirtyUndo, IsCoveredByDifferencesUnlessTheOtherWritesBlindly) {
  const auto by = [](Guard guard, Guard others) {
    return cover(analysed(reserving(guard), setting(others)), Anomaly::dirty_undo, "reserve", "set");
  };
  EXPECT_EQ(by(Guard::commutative, Guard::commutative), "commutative update");
  EXPECT_EQ(by(Guard::commutative, Guard::optimistic), "commutative update");
  EXPECT_EQ(by(Guard::commutative, Guard::none), "nothing");
  EXPECT_EQ(by(Guard::version_file, Guard::none), "version file");
  EXPECT_EQ(by(Guard::idempotency_key, Guard::none), "idempotency key");
}

}  // namespace
}  // namespace skald::analyser
