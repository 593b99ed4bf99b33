// The traps of the booking system that are course's to avoid, and the answers it gives.
#include <future>

#include "course/saga_handler.h"
#include "end_to_end/course_fixture.h"

namespace skald::test {
namespace {

using golf::Refusal;
using golf::SlotStatus;
using testing::ElementsAre;
using testing::IsEmpty;

class CourseTraps : public CourseTest {};
INSTANTIATE_TEST_SUITE_P(Databases, CourseTraps, testing::Values(Dialect::sqlite, Dialect::postgres), database_of);

TEST_P(CourseTraps, AReserveTakesSeatsAndTellsItsBookingAndTheCopies) {
  const std::string id = offer(4);
  reserve("b1", id, 3);
  const golf::Slot now = slot(id);
  EXPECT_EQ(now.booked_players, 3);
  EXPECT_EQ(now.status, SlotStatus::AVAILABLE);
  EXPECT_EQ(now.version, 2);
  const auto all = told();
  ASSERT_EQ(all.size(), 3u);  // the first is of the new slot
  EXPECT_EQ(all[1].type, "slot.reserved");
  EXPECT_EQ(all[1].key, "b1");
  EXPECT_EQ(all[1].subject, "b1");
  EXPECT_EQ(all[1].payload, R"({"bookingId":"b1","slotId":")" + id + R"(","players":3})");
  EXPECT_FALSE(all[1].traceparent.empty());
  EXPECT_EQ(all[2].type, "slot.changed");
  EXPECT_EQ(all[2].key, id);
  EXPECT_EQ(all[2].subject, id);
  EXPECT_EQ(all[2].payload, to_json(now));
  EXPECT_EQ(all[2].traceparent, all[1].traceparent);
  expect_invariants();
}

// Two figures of one round trip would be one figure under two names.
TEST_P(CourseTraps, EachRoundTripOfAReserveIsTimedUnderOneName) {
  const std::string id = offer(4);
  reserve("b1", id, 3);
  EXPECT_EQ(noted_.timed("course_"),
            (std::map<std::string, int>{
                {"course_reserve_seconds", 1}, {"course_slot_query_seconds", 1}, {"course_slot_update_seconds", 1}}));
}

TEST_P(CourseTraps, TheLastSeatMakesItFullAndAReleaseAvailableAgain) {
  const std::string id = offer(4);
  reserve("b1", id, 3);
  reserve("b2", id, 1);
  EXPECT_EQ(slot(id).status, SlotStatus::FULLY_BOOKED);
  expect_invariants();
  release("b1", id);
  EXPECT_EQ(slot(id).status, SlotStatus::AVAILABLE);
  EXPECT_EQ(slot(id).booked_players, 1);
  ASSERT_THAT(answer_types("b1"), ElementsAre("slot.reserved", "slot.released"));
  EXPECT_EQ(answers("b1").back().payload, R"({"bookingId":"b1","slotId":")" + id + R"(","players":3})");
  EXPECT_EQ(from_json<golf::Slot>(told().back().payload).version, slot(id).version);
  expect_invariants();
}

// Long after every other record of the first one is gone.
TEST_P(CourseTraps, Trap2ALateDuplicateOfAReserveBooksOnce) {
  const std::string id = offer(4);
  reserve("b1", id, 2);
  execute("DELETE FROM skald_inbox");
  reserve("b1", id, 2, ".again");
  EXPECT_EQ(slot(id).booked_players, 2);
  EXPECT_EQ(slot(id).version, 2);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.reserved"));
  EXPECT_EQ(noted_.of("course_duplicates_total"), 1);
  EXPECT_EQ(noted_.lines("a reserve came again and changes nothing").size(), 1u);
  expect_invariants();
}

TEST_P(CourseTraps, Trap3AReleaseThatComesTwiceFreesItsSeatsOnce) {
  const std::string id = offer(4);
  reserve("b1", id, 2);
  reserve("b2", id, 2);
  release("b1", id);
  release("b1", id, ".again");
  EXPECT_EQ(slot(id).booked_players, 2);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.reserved", "slot.released"));
  EXPECT_EQ(noted_.of("course_duplicates_total"), 1);
  expect_invariants();
}

TEST_P(CourseTraps, Trap3AReleaseThatOvertakesItsReserveWins) {
  const std::string id = offer(4);
  release("b1", id);
  reserve("b1", id, 2);
  EXPECT_EQ(slot(id).booked_players, 0);
  EXPECT_EQ(slot(id).version, 1);
  const auto all = answers("b1");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].payload, R"({"bookingId":"b1","slotId":")" + id + R"(","players":0})");
  EXPECT_EQ(from_json<golf::SlotReserveFailed>(all[1].payload).code, Refusal::SLOT_RELEASED);
  EXPECT_EQ(noted_.of("course_released_early_total"), 1);
  expect_invariants();
}

TEST_P(CourseTraps, Trap3AReserveBehindItsOwnReleaseIsRefusedTooWhenItHadSeats) {
  const std::string id = offer(4);
  reserve("b1", id, 2);
  release("b1", id);
  reserve("b1", id, 2, ".again");
  EXPECT_EQ(slot(id).booked_players, 0);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.reserved", "slot.released", "slot.reserve.failed"));
}

TEST_P(CourseTraps, Trap3AReleaseOfASlotThatIsNotThereIsRemembered) {
  release("b1", "nowhere");
  release("b1", "nowhere", ".again");
  EXPECT_EQ(reservations("b1"), 1);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.released"));
  expect_invariants();
}

// The second comes while the first is not committed: it must wait for it.
TEST_P(CourseTraps, Trap4TwoDuplicatesAtOnceReserveOnce) {
  const std::string id = offer(4);
  const course::SagaHandler handler(env_, [](Duration) {}, 3);
  const Message message{{.id = "m",
                         .type = "slot.reserve",
                         .key = id,
                         .subject = "b1",
                         .payload = to_json(golf::SlotReserve{"b1", id, 2}),
                         .traceparent = ""},
                        "/booking",
                        clock_->now(),
                        1,
                        false};
  const auto third = GetParam() == Dialect::postgres ? open_postgres(env_, {.url = db_->address()}) : nullptr;
  const auto somebody_waits = [&] {
    return third->read_result([](Transaction& tx) {
      return tx.query(
                   "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "
                   "'Lock'")
                 .get<std::int64_t>(0, 0) > 0;
    });
  };
  std::promise<void> reserved;
  auto first = std::async(std::launch::async, [&] {
    (*db_)->write("first", [&](Transaction& tx) {
      handler.reserve(tx, message);
      reserved.set_value();
      const Instant end = clock_->steady() + 1s;
      // On SQLite the second cannot even begin.
      while (third && !somebody_waits()) ASSERT_LT(clock_->steady(), end) << "nobody waits for the first";
    });
  });
  reserved.get_future().wait();
  (*db_)->write("second", [&](Transaction& tx) { handler.reserve(tx, message); });
  first.get();
  EXPECT_EQ(slot(id).booked_players, 2);
  EXPECT_EQ(reservations("b1"), 1);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.reserved"));
  EXPECT_EQ(noted_.of("course_duplicates_total"), 1);
  expect_invariants();
}

TEST_P(CourseTraps, Trap4DuplicatesInOneBatchReserveOnce) {
  const std::string id = offer(4);
  const std::string payload = to_json(golf::SlotReserve{"b1", id, 2});
  for (int i = 0; i < 10; ++i) land("copy" + std::to_string(i), "slot.reserve", id, payload);
  settle(id);
  EXPECT_EQ(slot(id).booked_players, 2);
  EXPECT_THAT(answer_types("b1"), ElementsAre("slot.reserved"));
  EXPECT_EQ(noted_.of("course_duplicates_total"), 9);
}

TEST_P(CourseTraps, Trap6AReleaseLeavesAClosedSlotClosed) {
  const std::string id = offer(4);
  reserve("b1", id, 4);
  ASSERT_EQ(call("POST", "/booking/slots/" + id + "/close").status, 200);
  release("b1", id);
  EXPECT_EQ(slot(id).status, SlotStatus::CLOSED);
  EXPECT_EQ(slot(id).booked_players, 0);
  EXPECT_EQ(from_json<golf::Slot>(told().back().payload).status, SlotStatus::CLOSED);
  expect_invariants();
}

TEST_P(CourseTraps, Trap8ARefusalSaysWhyAndLeavesNothingBehind) {
  const std::string full = offer(2), closed = offer(4), started = offer(4);
  reserve("b0", full, 1);
  ASSERT_EQ(call("POST", "/booking/slots/" + closed + "/close").status, 200);
  execute("UPDATE course_slot SET starts_at = 1 WHERE id = '" + started + "'");
  reserve("b1", full, 2);
  reserve("b2", closed, 1);
  reserve("b3", started, 1);
  reserve("b4", "nowhere", 1);
  reserve("b5", full, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(refusal("b1"), Refusal::SLOT_FULL);
  EXPECT_EQ(refusal("b2"), Refusal::SLOT_CLOSED);
  EXPECT_EQ(refusal("b3"), Refusal::SLOT_STARTED);
  EXPECT_EQ(refusal("b4"), Refusal::SLOT_NOT_FOUND);
  EXPECT_EQ(refusal("b5"), Refusal::SLOT_FULL);
  EXPECT_EQ(number("SELECT COUNT(*) FROM course_reservation"), 1);
  EXPECT_EQ(slot(full).booked_players, 1);
  EXPECT_EQ(noted_.of("course_reserve_refused_total"), 5);
  EXPECT_THAT(pauses_, IsEmpty());
  expect_invariants();
}

TEST_P(CourseTraps, WhatWasRefusedMayBeReservedWhenSeatsAreFree) {
  const std::string id = offer(2);
  reserve("b1", id, 2);
  reserve("b2", id, 1);
  release("b1", id);
  reserve("b2", id, 1, ".later");
  EXPECT_THAT(answer_types("b2"), ElementsAre("slot.reserve.failed", "slot.reserved"));
  EXPECT_EQ(slot(id).booked_players, 1);
}

TEST_P(CourseTraps, OneBookingsSlotsAreApart) {
  const std::string one = offer(4), other = offer(4);
  reserve("b1", one, 1, ".one");
  reserve("b1", other, 2, ".other");
  release("b1", one, ".one");
  EXPECT_EQ(slot(one).booked_players, 0);
  EXPECT_EQ(slot(other).booked_players, 2);
}

TEST_P(CourseTraps, WhatCannotBeReadIsADeadLetterAndBlocksNobody) {
  const std::string id = offer(4);
  reserve("b1", id, 0);
  reserve("b2", id, -3);
  reserve("", id, 1);
  release("no/id", id);
  reserve("b3", id, 1);
  EXPECT_EQ(slot(id).booked_players, 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM skald_dead_letter"), 4);
  EXPECT_THAT(answer_types("b3"), ElementsAre("slot.reserved"));
  EXPECT_EQ(reservations("b1") + reservations("b2") + reservations("no/id"), 0);
}

TEST_P(CourseTraps, ALineOfTheLogTellsTheStory) {
  const std::string id = offer(4);
  reserve("b1", id, 3);
  const auto lines = noted_.lines("seats are reserved");
  ASSERT_EQ(lines.size(), 1u);
  const auto line = json::parse("{" + lines[0] + "}").as_object();
  for (const char* name : {"bookingId", "sagaId"}) EXPECT_EQ(line.at(name).as_string(), "b1") << name;
  EXPECT_EQ(line.at("tag").as_string(), "[Saga]");
  EXPECT_EQ(line.at("slotId").as_string(), id);
  EXPECT_EQ(line.at("status").as_string(), "AVAILABLE");
  EXPECT_EQ(line.at("booked").as_int64(), 3);
  EXPECT_EQ(line.at("max").as_int64(), 4);
  EXPECT_EQ(line.at("version").as_int64(), 2);
  EXPECT_EQ(line.at("attempt").as_int64(), 1);
  EXPECT_EQ(line.at("attemptsMax").as_int64(), 3);
  EXPECT_GE(line.at("micros").as_int64(), 0);
}

}  // namespace
}  // namespace skald::test
