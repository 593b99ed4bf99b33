// The traps of the seed's design, each with what must happen instead.
#include "end_to_end/booking_site.h"

namespace skald::test {
namespace {

using booking::BookingView;
using booking::Status;
using testing::ElementsAre;

class BookingTraps : public BookingTest {};
INSTANTIATE_TEST_SUITE_P(Deployed, BookingTraps,
                         testing::Values(Deployment::embedded, Deployment::shared, Deployment::distributed), name_of);

TEST_P(BookingTraps, Trap1ALateSuccessIsGivenBackOnceAndTheCustomerIsToldOnce) {
  restart({.timeout = 300ms});
  const std::string slot_id = offer(4);
  hold("slot.reserve");
  hold("slot.release");
  const BookingView late = book(slot_id, 3);
  EXPECT_EQ(becomes(late.id, Status::FAILED).reason->code, "SAGA_TIMEOUT");
  held("slot.release", 1);
  let_go("slot.reserve");
  until([&] { return history(late.id).back() == "LATE_RESERVED"; }, "the late answer");
  EXPECT_EQ(slot(slot_id).booked_players, 3);
  let_go("slot.release");
  until([&] { return history(late.id).back() == "RELEASED"; }, "the seats are free again");
  EXPECT_EQ(slot(slot_id).booked_players, 0);
  expect_invariants();
  EXPECT_THAT(history(late.id), ElementsAre("CREATED", "FAILED", "LATE_RESERVED", "RELEASED"));
  EXPECT_THAT(told(late.id), ElementsAre("FAILED"));
  EXPECT_EQ(count(booking_, "SELECT COUNT(*) FROM skald_outbox WHERE type = 'slot.release'"), 1);
}

TEST_P(BookingTraps, Trap1ACancelledBookingWhoseSeatsComeLateIsGivenBackOnceAndToldOnce) {
  const std::string slot_id = offer(4);
  hold("slot.reserved");
  const BookingView made = book(slot_id, 2);
  const auto answer = held("slot.reserved", 1);
  EXPECT_EQ(cancel(made.id).status, Status::CANCELLED);
  until([&] { return slot(slot_id).booked_players == 0; }, "the seats are free");
  land("slot.reserved", answer);
  settle();
  expect_invariants();
  EXPECT_EQ(show(made.id).status, Status::CANCELLED);
  EXPECT_FALSE(show(made.id).refund.has_value());  // nothing was charged
  EXPECT_THAT(told(made.id), ElementsAre("CANCELLED"));
  EXPECT_EQ(slot(slot_id).booked_players, 0);
}

TEST_P(BookingTraps, Trap2ADuplicateThatComesLongAfterBooksNothing) {
  const std::string slot_id = offer(4);
  hold("slot.reserve");
  const BookingView made = book(slot_id, 2);
  const auto order = held("slot.reserve", 1);
  let_go("slot.reserve");
  becomes(made.id, Status::CONFIRMED);
  settle();
  // As if course had forgotten all events that it has seen.
  course_.database->write("forget", [](Transaction& tx) {
    tx.execute("DELETE FROM skald_inbox");
    tx.execute("DELETE FROM skald_outbox");
  });
  land("slot.reserve", order);
  settle();
  EXPECT_EQ(slot(slot_id).booked_players, 2);
  EXPECT_THAT(history(made.id), ElementsAre("CREATED", "CONFIRMED"));
  expect_invariants();
}

TEST_P(BookingTraps, Trap2AnAnswerThatComesAgainLongAfterFreesNothing) {
  const std::string slot_id = offer(4);
  hold("slot.reserved");
  const BookingView kept = book(slot_id, 2), dropped = book(slot_id, 1);
  const auto answers = held("slot.reserved", 2);
  let_go("slot.reserved");
  becomes(kept.id, Status::CONFIRMED);
  becomes(dropped.id, Status::CONFIRMED);
  cancel(dropped.id);
  until([&] { return history(dropped.id).back() == "RELEASED"; }, "the seats are free again");
  settle();
  // As if booking had forgotten all events that it has seen.
  booking_.database->write("forget", [](Transaction& tx) {
    tx.execute("DELETE FROM skald_inbox");
    tx.execute("DELETE FROM skald_outbox");
  });
  land("slot.reserved", answers);
  settle();
  EXPECT_EQ(slot(slot_id).booked_players, 2);
  EXPECT_THAT(history(kept.id), ElementsAre("CREATED", "CONFIRMED"));
  EXPECT_THAT(history(dropped.id), ElementsAre("CREATED", "CONFIRMED", "CANCELLED", "RELEASED"));
  expect_invariants();
}

TEST_P(BookingTraps, Trap3AReleaseThatOvertakesItsReserveWins) {
  const std::string slot_id = offer(4);
  hold("slot.reserve");
  const BookingView made = book(slot_id, 2);
  held("slot.reserve", 1);
  cancel(made.id);
  until([&] { return history(made.id).back() == "RELEASED"; }, "the release was heard of");
  let_go("slot.reserve");
  settle();
  EXPECT_EQ(slot(slot_id).booked_players, 0);
  EXPECT_THAT(told(made.id), ElementsAre("CANCELLED"));
  expect_invariants();
}

TEST_P(BookingTraps, Trap3AReleaseThatComesTwiceFreesItsSeatsOnce) {
  const std::string slot_id = offer(4);
  const BookingView other = book(slot_id, 2, "lee"), made = book(slot_id, 2);
  becomes(other.id, Status::CONFIRMED);
  becomes(made.id, Status::CONFIRMED);
  hold("slot.release");
  cancel(made.id);
  auto release = held("slot.release", 1);
  let_go("slot.release");
  until([&] { return slot(slot_id).booked_players == 2; }, "two seats are free");
  land("slot.release", release);
  release[0].event.id += "-again";  // and one that no inbox knows
  land("slot.release", release);
  settle();
  EXPECT_EQ(slot(slot_id).booked_players, 2);
  EXPECT_THAT(told(made.id), ElementsAre("CONFIRMED", "CANCELLED"));
  expect_invariants();
}

TEST_P(BookingTraps, Trap5ACancelBeforeTheConfirmationWins) {
  const std::string slot_id = offer(4);
  hold("slot.reserved");
  const BookingView made = book(slot_id, 4);
  held("slot.reserved", 1);
  cancel(made.id);
  let_go("slot.reserved");
  until([&] { return slot(slot_id).booked_players == 0; }, "the seats are free");
  expect_invariants();
  EXPECT_EQ(show(made.id).status, Status::CANCELLED);
}

TEST_P(BookingTraps, Trap5ACancelBehindTheConfirmationPaysBack) {
  const std::string slot_id = offer(4);
  const BookingView made = book(slot_id, 4);
  becomes(made.id, Status::CONFIRMED);
  EXPECT_EQ(cancel(made.id).refund->percent, 100);
  until([&] { return slot(slot_id).booked_players == 0; }, "the seats are free");
  expect_invariants();
  EXPECT_THAT(told(made.id), ElementsAre("CONFIRMED", "CANCELLED"));
}

// Both at once, in whatever order the threads find.
TEST_P(BookingTraps, Trap5CancelsThatRaceConfirmationsLeaveNoSeatAndNoMoneyBehind) {
  const std::string slot_id = offer(60);
  std::vector<BookingView> made;
  for (int i = 0; i < 30; ++i) made.push_back(book(slot_id, 2));
  for (const BookingView& one : made) cancel(one.id);
  until([&] { return slot(slot_id).booked_players == 0; }, "all seats are free");
  for (const BookingView& one : made) {
    until([&] { return !told(one.id).empty() && told(one.id).back() == "CANCELLED"; }, "everybody is told");
    EXPECT_EQ(show(one.id).status, Status::CANCELLED);
  }
  expect_invariants();
  EXPECT_EQ(count(booking_, "SELECT COALESCE(SUM(amount), 0) FROM booking_posting WHERE account = 'sales'"), 0);
}

TEST_P(BookingTraps, Trap6AReleaseDoesNotReopenAClosedSlot) {
  const std::string slot_id = offer(2);
  const BookingView made = book(slot_id, 2);
  becomes(made.id, Status::CONFIRMED);
  EXPECT_EQ(call(kAdmin, "POST", "/booking/slots/" + slot_id + "/close").status, 200);
  cancel(made.id);
  until([&] { return slot(slot_id).booked_players == 0; }, "the seats are free");
  EXPECT_EQ(slot(slot_id).status, golf::SlotStatus::CLOSED);
  expect_invariants();
}

TEST_P(BookingTraps, Trap7WhatWasUnderWayWhenEverythingStoppedGoesOn) {
  const std::string slot_id = offer(40);
  std::vector<BookingView> made;
  for (int i = 0; i < 20; ++i) made.push_back(book(slot_id, 1));
  restart();
  for (const BookingView& one : made) becomes(one.id, Status::CONFIRMED);
  EXPECT_EQ(slot(slot_id).booked_players, 20);
  expect_invariants();
}

TEST_P(BookingTraps, Trap8ARefusalSaysWhy) {
  const std::string full = offer(2), closed = offer(2), gone = offer(2);
  hold("slot.reserve");
  const BookingView first = book(full, 2), second = book(full, 2, "lee"), third = book(closed), fourth = book(gone);
  held("slot.reserve", 4);
  ASSERT_EQ(call(kAdmin, "POST", "/booking/slots/" + closed + "/close").status, 200);
  change(course_, "DELETE FROM course_slot WHERE id = '" + gone + "'");
  let_go("slot.reserve");
  becomes(first.id, Status::CONFIRMED);
  EXPECT_EQ(becomes(second.id, Status::FAILED).reason->code, "SLOT_FULL");
  EXPECT_EQ(becomes(third.id, Status::FAILED).reason->code, "SLOT_CLOSED");
  EXPECT_EQ(becomes(fourth.id, Status::FAILED).reason->code, "SLOT_NOT_FOUND");
  EXPECT_NE(show(second.id).reason->message, show(third.id).reason->message);
  expect_invariants();
}

TEST_P(BookingTraps, AClockThatIsYearsAheadForAMomentHasNoEffectOnBookings) {
  constexpr Duration kYears = std::chrono::days(730);
  const std::string slot_id = offer(4);
  const BookingView early = book(slot_id);
  becomes(early.id, Status::CONFIRMED);
  clock_->jump(kYears);
  const BookingView meanwhile = book(slot_id);
  becomes(meanwhile.id, Status::CONFIRMED);
  clock_->jump(-kYears);
  const BookingView late = book(slot_id);
  becomes(late.id, Status::CONFIRMED);
  EXPECT_EQ(cancel(early.id).status, Status::CANCELLED);
  settle();
  expect_invariants();
}

}  // namespace
}  // namespace skald::test
