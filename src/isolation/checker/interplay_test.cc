// Where one definition ends and the next begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isolation/checker/history_fixture.h"

namespace skald::checker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Interplay : public testing::Test {
 protected:
  Interplay() {
    for (const char* saga : {"c", "a", "b"}) tape_.begin(saga);
  }
  // "lost_update b a": the anomaly and its sagas, the first one first.
  std::vector<std::string> found() const {
    std::vector<std::string> all;
    for (const Finding& finding : check(tape_.history)) {
      std::string text(enum_name(finding.anomaly));
      std::set<std::string> named;
      for (const Part& part : finding.parts)
        if (named.insert(part.saga_id).second) text += " " + part.saga_id;
      all.push_back(text);
    }
    return all;
  }
  void end(Outcome a, Outcome b) {
    tape_.finish("a", a);
    tape_.finish("b", b);
    tape_.complete("c");
  }
  Tape tape_;
  static constexpr auto kDone = Outcome::completed;
  static constexpr auto kUndone = Outcome::compensated;
};

TEST_F(Interplay, APartThatCompletedStaysAndOneThatDidNotIsLeftBehind) {
  for (const char* saga : {"a", "b"}) tape_.write(saga, ".2 save", saga);
  tape_.finish("a", kDone).step = ".2";
  tape_.finish("b", kUndone).step = ".2";
  end(kUndone, kUndone);
  EXPECT_THAT(found(), ElementsAre("orphan_effect b"));
}

TEST_F(Interplay, ASagaReadsItsOwnAbsoluteWriteAndNotWhatItCovers) {
  tape_.change(Kind::add, "b", "reserve", "k");
  tape_.write("a", "save", "k");
  tape_.read("a", "look", "k");
  tape_.change(Kind::undo_write, "a", "save", "k");
  tape_.change(Kind::undo_add, "b", "reserve", "k");
  end(kUndone, kUndone);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Interplay, AReadBehindAnUndoneCoverSeesTheDirtBelowIt) {
  tape_.change(Kind::add, "b", "reserve", "k");
  tape_.write("a", "save", "k");
  tape_.change(Kind::undo_write, "a", "save", "k");
  tape_.read("c", "look", "k");
  tape_.change(Kind::undo_add, "b", "reserve", "k");
  end(kUndone, kUndone);
  EXPECT_THAT(found(), ElementsAre("dirty_read c b"));
}

TEST_F(Interplay, AReadOfAnAbsoluteWriteIsCleanWhateverWasBelow) {
  tape_.change(Kind::add, "b", "reserve", "k");
  tape_.write("a", "save", "k");
  tape_.read("c", "look", "k");
  tape_.change(Kind::undo_add, "b", "reserve", "k");
  end(kDone, kUndone);
  EXPECT_THAT(found(), ElementsAre("dirty_undo b a"));
}

TEST_F(Interplay, AReadAfterACompensationThatNamesNoRowIsClean) {
  tape_.write("a", "save", "k");
  tape_.note(Kind::compensation, "a", "save");
  tape_.read("c", "look", "k");
  end(kUndone, kDone);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Interplay, ARelativeUndoOfWhatTheOtherBuiltOnHurtsOnlyTheReader) {
  tape_.write("a", "save", "k");
  tape_.read("b", "look", "k");
  tape_.write("b", "save", "k");
  tape_.change(Kind::undo_add, "a", "save", "k");
  end(kUndone, kDone);
  EXPECT_THAT(found(), ElementsAre("dirty_read b a"));
}

TEST_F(Interplay, AnUndoOverAWriteThatWasItselfUndoneHurtsNobody) {
  tape_.write("a", "save", "k");
  tape_.write("b", "save", "k");
  tape_.change(Kind::undo_write, "b", "save", "k");
  tape_.change(Kind::undo_write, "a", "save", "k");
  end(kUndone, kUndone);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Interplay, WhatAnUndoneSagaWroteIsNoLostUpdateAndNoChange) {
  tape_.read("a", "look", "k");
  tape_.change(Kind::add, "b", "reserve", "k");
  tape_.change(Kind::undo_add, "b", "reserve", "k");
  tape_.read("a", "look again", "k");
  tape_.write("a", "save", "k").version_read = 0;
  end(kDone, kUndone);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Interplay, ALostUpdateIsNotToldAgainAsALongerCycle) {
  tape_.read("a", "look", "k");
  tape_.write("b", "save", "k");
  tape_.read("c", "look", "k");
  tape_.write("a", "save", "k");
  end(kDone, kDone);
  EXPECT_THAT(found(), ElementsAre("lost_update a b"));
}

TEST_F(Interplay, ANonRepeatableReadIsNotToldAgainAsALongerCycle) {
  tape_.read("a", "look", "k");
  tape_.write("b", "save", "k");
  tape_.read("c", "look", "k");
  tape_.read("c", "look aside", "other");
  tape_.read("a", "look again", "k");
  tape_.write("a", "save", "other");
  end(kDone, kDone);
  EXPECT_THAT(found(), ElementsAre("non_repeatable_read a b"));
}

TEST_F(Interplay, ACompensatedSagaMayHaveReadWhatItLikes) {
  tape_.read("a", "look", "k");
  tape_.write("b", "save", "k");
  tape_.read("a", "look again", "k");
  end(kUndone, kDone);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Interplay, WriteSkewIsACycle) {
  for (const char* saga : {"a", "b"})
    for (const char* key : {"x", "y"}) tape_.read(saga, std::string("look at ") + key, key);
  tape_.write("a", "save", "x").version_read = 0;
  tape_.write("b", "save", "y").version_read = 0;
  end(kDone, kDone);
  EXPECT_THAT(found(), ElementsAre("cycle a b"));
}

TEST_F(Interplay, OfTwoWritersOfOneVersionAReaderSawTheOneBeforeIt) {
  tape_.write("a", "save", "k");
  tape_.read("a", "look", "k");
  auto& late = tape_.write("b", "save", "k");
  late.version_written = 1;
  late.version_read = 0;
  end(kDone, kDone);
  EXPECT_THAT(found(), ElementsAre("lost_update b a"));
}

TEST_F(Interplay, ASharedLockUnderAnExclusiveOneOverlapsAndOneBesideASharedOneDoesNot) {
  tape_.lock("a", "k", LockMode::shared);
  tape_.lock("b", "k", LockMode::shared);
  EXPECT_THAT(check(tape_.history), IsEmpty());
  tape_.lock("a", "other", LockMode::exclusive);
  tape_.lock("a", "other", LockMode::exclusive);
  EXPECT_THAT(check(tape_.history), IsEmpty()) << "a saga is not in its own way";
  tape_.lock("b", "other", LockMode::shared);
  end(kDone, kDone);
  EXPECT_THAT(found(), ElementsAre("overlapping_locks b a"));
}

TEST_F(Interplay, AnOrphanTellsWhy) {
  tape_.write("nobody", "save", "k");
  end(kDone, kDone);
  tape_.write("a", "save", "other");
  const auto findings = check(tape_.history);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0].explanation, HasSubstr("'nobody' (test.saga) in step 'save' had not begun"));
  EXPECT_THAT(findings[1].explanation, HasSubstr("'a' (test.saga) in step 'save' had ended before"));
}

TEST_F(Interplay, EveryElementOfAStepIsCompensatedByItself) {
  for (const char* key : {"x", "y", "z"}) tape_.note(Kind::action, "a", "reserve each", key);
  for (const char* key : {"z", "x"}) tape_.note(Kind::compensation, "a", "reserve each", key);
  end(kUndone, kDone);
  const auto findings = check(tape_.history);
  ASSERT_EQ(findings.size(), 1u) << findings_text(findings);
  EXPECT_EQ(findings[0].anomaly, Anomaly::orphan_effect);
  EXPECT_EQ(findings[0].key, "y");
}

}  // namespace
}  // namespace skald::checker
