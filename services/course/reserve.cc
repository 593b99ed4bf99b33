#include "course/record.h"
#include "course/saga_handler.h"
#include "course/saga_line.h"
#include "course/slot_events.h"
#include "course/validation.h"
#include "env/seam.h"
#include "skald/lenient_json.h"

namespace course {

using golf::Refusal;
using golf::SlotStatus;
using skald::Transaction;
using skald::seam::Rule;

// What trying to take seats has led to: the slot as it is left, or why not.
struct SagaHandler::Seats {
  std::optional<StoredSlot> slot;
  std::optional<Refusal> refusal;
};

namespace {

// Touches no row where there is one of this booking and slot already.
constexpr std::string_view kClaim =
    "INSERT INTO course_reservation (booking_id, slot_id, players, state, created_at) "
    "VALUES ($1, $2, $3, 'RESERVED', $4) ON CONFLICT (booking_id, slot_id) DO NOTHING";

void withdraw(Transaction& tx, const golf::SlotReserve& wanted) {
  tx.enqueue("DELETE FROM course_reservation WHERE booking_id = $1 AND slot_id = $2", wanted.booking_id,
             wanted.slot_id);
}

bool was_released(Transaction& tx, const golf::SlotReserve& wanted) {
  return !tx.query("SELECT 1 FROM course_reservation WHERE booking_id = $1 AND slot_id = $2 AND state = 'RELEASED'",
                   wanted.booking_id, wanted.slot_id)
              .empty();
}

std::optional<Refusal> refusal_of(const std::optional<StoredSlot>& slot, std::int64_t players, skald::Time now) {
  if (!slot) return Refusal::SLOT_NOT_FOUND;
  if (slot->status == SlotStatus::CLOSED) return Refusal::SLOT_CLOSED;
  if (slot->starts_at <= now) return Refusal::SLOT_STARTED;
  if (!skald::seam::holds(Rule::capacity_checked)) return std::nullopt;
  if (slot->status == SlotStatus::FULLY_BOOKED || players > slot->max_players - slot->booked_players)
    return Refusal::SLOT_FULL;
  return std::nullopt;
}

constexpr std::string_view kTake =
    "UPDATE course_slot SET booked_players = booked_players + $2, status = CASE WHEN booked_players + $2 "
    ">= max_players THEN 'FULLY_BOOKED' ELSE 'AVAILABLE' END, version = version + 1 "
    "WHERE id = $1 AND version = $3 AND status = 'AVAILABLE' AND booked_players + $2 <= max_players "
    "AND starts_at > $4";
constexpr std::string_view kTakeUnbounded =
    "UPDATE course_slot SET booked_players = booked_players + $2, status = CASE WHEN booked_players + $2 "
    ">= max_players THEN 'FULLY_BOOKED' ELSE 'AVAILABLE' END, version = version + 1 "
    "WHERE id = $1 AND version = $3 AND status <> 'CLOSED' AND starts_at > $4";

// Where nothing has changed since `slot` was read; it then is what the row is.
bool take(Transaction& tx, StoredSlot& slot, std::int64_t players) {
  const auto sql = skald::seam::holds(Rule::capacity_checked) ? kTake : kTakeUnbounded;
  if (tx.execute(sql, slot.id, players, slot.version, tx.now()) != 1) return false;
  slot.booked_players += players;
  slot.status = slot.booked_players >= slot.max_players ? SlotStatus::FULLY_BOOKED : SlotStatus::AVAILABLE;
  ++slot.version;
  return true;
}

}  // namespace

// Pauses with the transaction open, for a quarter of a second at most where tries are three: a slot's
// events come one by one, so that what has changed it is an admin, or a worker that is about to lose it.
SagaHandler::Seats SagaHandler::take_seats(Transaction& tx, const golf::SlotReserve& wanted,
                                           std::optional<StoredSlot> slot, SagaLine& line) const {
  Seats seats{std::move(slot), std::nullopt};
  const auto is_free = [&] {
    seats.refusal = refusal_of(seats.slot, wanted.players, tx.now());
    return !seats.refusal;
  };
  const auto look_again = [&] {
    const skald::Instant begun = env_.clock.steady();
    seats.slot = tx.find<StoredSlot>(wanted.slot_id);
    env_.observer.timing("course_slot_query_seconds", env_.clock.steady() - begun);
    return is_free();
  };
  const auto take_timed = [&] {
    const skald::Instant begun = env_.clock.steady();
    const bool taken = take(tx, *seats.slot, wanted.players);
    env_.observer.timing("course_slot_update_seconds", env_.clock.steady() - begun);
    return taken;
  };
  line.attempts_max = slot_tries_.tries;
  for (int attempt = 1; attempt == 1 ? is_free() : look_again(); ++attempt) {
    line.attempt = attempt;
    if (take_timed() || !look_again()) break;  // a reason beyond the version is an answer at once
    line.show(*seats.slot);
    env_.observer.count("course_slot_conflicts_total");
    env_.observer.log(skald::Observer::Level::info, "another has changed the slot since it was read", line.fields());
    if (attempt == slot_tries_.tries) {
      seats.refusal = Refusal::SLOT_BUSY;
      break;
    }
    pause_(stale_pause(slot_tries_, attempt, env_.random));
  }
  if (seats.slot) line.show(*seats.slot);
  return seats;
}

void SagaHandler::reserve(Transaction& tx, const skald::Message& message) const {
  const skald::Instant begun = env_.clock.steady();
  const auto wanted = skald::from_lenient_json<golf::SlotReserve>(message.event.payload);
  check(wanted);
  SagaLine line(wanted.booking_id, wanted.slot_id, message);
  line.players = wanted.players;
  const auto end = [&](std::string_view metric, std::string_view text) {
    tell_at_commit(tx, env_, {metric, "course_reserve_seconds", text}, line, begun);
  };
  const auto refuse = [&](Refusal why) {
    line.code = why;
    answer(tx, "slot.reserve.failed", golf::SlotReserveFailed{wanted.booking_id, wanted.slot_id, why},
           message.event.traceparent);
    end("course_reserve_refused_total", "seats are refused");
  };

  auto [claim, slot] = tx.find_behind<StoredSlot>(
      {kClaim, {wanted.booking_id, wanted.slot_id, wanted.players, skald::Param(tx.now())}}, wanted.slot_id);
  // The claim travels with it: one round trip, one figure.
  env_.observer.timing("course_slot_query_seconds", env_.clock.steady() - begun);
  if (claim.affected() != 1) {
    if (was_released(tx, wanted)) return refuse(Refusal::SLOT_RELEASED);
    if (skald::seam::holds(Rule::reservation_looked_at))
      return end("course_duplicates_total", "a reserve came again and changes nothing");
  }
  const Seats seats = take_seats(tx, wanted, std::move(slot), line);
  if (seats.refusal) {
    if (skald::seam::holds(Rule::refused_reserve_withdrawn)) withdraw(tx, wanted);
    return refuse(*seats.refusal);
  }
  answer(tx, "slot.reserved", golf::SlotReserved{wanted.booking_id, wanted.slot_id, wanted.players},
         message.event.traceparent);
  tell_changed(tx, *seats.slot, message.event.traceparent);
  end("course_reserved_total", "seats are reserved");
}

}  // namespace course
