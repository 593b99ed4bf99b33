// Others who change a slot between its reading and its update. On SQLite nobody can come in
// between.
#include "end_to_end/course_fixture.h"

namespace skald::test {
namespace {

using golf::Refusal;
using golf::SlotStatus;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kTake = "UPDATE course_slot SET booked_players = booked_players +";
constexpr const char* kGiveBack = "UPDATE course_slot SET booked_players = booked_players -";

class CourseConflicts : public CourseTest {
 protected:
  ~CourseConflicts() override { engine_->stop(1s); }
  // Runs `sql` on another connection before each of the first `times` statements with `text`.
  void meddle(const std::string& text, int times, const std::string& sql) {
    before(text, [this, sql, left = std::make_shared<int>(times)] {
      if (--*left < 0) return;
      other_->write("meddle", [&](Transaction& tx) { tx.execute(sql); });
    });
  }
  std::unique_ptr<Database> other_ = open_postgres(env_, {.url = db_->address()});
};
INSTANTIATE_TEST_SUITE_P(Databases, CourseConflicts, testing::Values(Dialect::postgres), database_of);

MATCHER_P(AboutMs, first, "that many milliseconds and up to half of it on top") {
  return arg >= std::chrono::milliseconds(first) && arg <= std::chrono::milliseconds(first) * 3 / 2;
}

TEST_P(CourseConflicts, AChangedVersionIsReadAgainAfterAPause) {
  const std::string id = offer(4);
  meddle(kTake, 1, "UPDATE course_slot SET version = version + 1");
  reserve("b1", id, 2);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.reserved"));
  EXPECT_EQ(slot(id).booked_players, 2);
  EXPECT_EQ(slot(id).version, 3);
  EXPECT_EQ(from_json<golf::Slot>(told().back().payload).version, 3);
  EXPECT_THAT(pauses_, ElementsAre(AboutMs(50)));
  EXPECT_EQ(noted_.of("course_slot_conflicts_total"), 1);
  EXPECT_THAT(noted_.lines("seats are reserved")[0], testing::HasSubstr(R"("attempt":2,"attemptsMax":3)"));
}

TEST_P(CourseConflicts, Trap8AfterThreeTriesTheSlotIsBusyNotFull) {
  const std::string id = offer(4);
  meddle(kTake, 3, "UPDATE course_slot SET version = version + 1");
  reserve("b1", id, 2);
  EXPECT_EQ(refusal("b1"), Refusal::SLOT_BUSY);
  EXPECT_EQ(reservations("b1"), 0);
  EXPECT_EQ(slot(id).booked_players, 0);
  EXPECT_THAT(pauses_, ElementsAre(AboutMs(50), AboutMs(100)));
  EXPECT_EQ(noted_.of("course_slot_conflicts_total"), 3);
  EXPECT_EQ(noted_.lines("another has changed the slot since it was read").size(), 3u);
}

TEST_P(CourseConflicts, TheThirdTryMaySucceed) {
  const std::string id = offer(4);
  meddle(kTake, 2, "UPDATE course_slot SET version = version + 1");
  reserve("b1", id, 2);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.reserved"));
  expect_invariants();
}

TEST_P(CourseConflicts, ASlotThatIsClosedInBetweenIsRefusedAtOnce) {
  const std::string id = offer(4);
  meddle(kTake, 1, "UPDATE course_slot SET status = 'CLOSED', version = version + 1");
  reserve("b1", id, 2);
  EXPECT_EQ(refusal("b1"), Refusal::SLOT_CLOSED);
  EXPECT_THAT(pauses_, IsEmpty());
  EXPECT_EQ(slot(id).booked_players, 0);
}

TEST_P(CourseConflicts, Trap8ASlotThatIsFullByTheLastTryIsFullNotBusy) {
  const std::string id = offer(3);
  meddle(kTake, 3, "UPDATE course_slot SET booked_players = booked_players + 1, version = version + 1");
  reserve("b1", id, 1);
  EXPECT_EQ(refusal("b1"), Refusal::SLOT_FULL);
  EXPECT_EQ(pauses_.size(), 2u);
}

TEST_P(CourseConflicts, Trap6ReleasesAndOthersChangesAreBothKept) {
  const std::string id = offer(4);
  reserve("b1", id, 4);
  meddle(kGiveBack, 1,
         "UPDATE course_slot SET max_players = 6, status = 'CLOSED', version = version + 1 WHERE status <> 'CLOSED'");
  release("b1", id);
  EXPECT_EQ(slot(id).max_players, 6);
  EXPECT_EQ(slot(id).booked_players, 0);
  EXPECT_EQ(slot(id).status, SlotStatus::CLOSED);
  EXPECT_EQ(slot(id).version, 4);
  EXPECT_EQ(from_json<golf::Slot>(told().back().payload).version, 4);
}

// The release finds no reservation, and then, when it wants to leave its mark, one.
TEST_P(CourseConflicts, AReleaseThatMeetsItsReserveFreesTheSeats) {
  const std::string id = offer(4);
  before("INSERT INTO course_reservation", [this, id, done = std::make_shared<bool>(false)] {
    if (std::exchange(*done, true)) return;
    other_->write("reserve meanwhile", [&](Transaction& tx) {
      tx.insert(golf::Reservation{"b1", id, 2, golf::ReservationState::RESERVED, tx.now(), std::nullopt});
      tx.execute("UPDATE course_slot SET booked_players = 2, version = version + 1 WHERE id = $1", id);
    });
  });
  release("b1", id);
  ASSERT_THAT(answer_types("b1"), ElementsAre("slot.released"));
  EXPECT_EQ(answers("b1").back().payload, R"({"bookingId":"b1","slotId":")" + id + R"(","players":2})");
  EXPECT_EQ(slot(id).booked_players, 0);
  expect_invariants();
}

TEST_P(CourseConflicts, ReservationsThatTheirSlotHasNotAreNotFreedInSilence) {
  const std::string id = offer(4);
  reserve("b1", id, 2);
  execute("UPDATE course_slot SET booked_players = 0");
  land("b1.release", "slot.release", id, to_json(golf::SlotRelease{"b1", id}));
  land("other", "slot.release", "elsewhere", to_json(golf::SlotRelease{"b2", id}));
  settle("elsewhere");
  EXPECT_EQ(number("SELECT COUNT(*) FROM course_reservation WHERE booking_id = 'b1' AND state = 'RESERVED'"), 1);
  const auto found = from_json<Invariants>(call("GET", "/booking/course/invariants").body);
  EXPECT_FALSE(found.ok);
}

}  // namespace
}  // namespace skald::test
