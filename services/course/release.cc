#include "course/record.h"
#include "course/saga_handler.h"
#include "course/saga_line.h"
#include "course/slot_events.h"
#include "course/validation.h"
#include "env/seam.h"
#include "skald/lenient_json.h"

namespace course {
namespace {

using skald::Transaction;
using skald::seam::Rule;

constexpr std::string_view kEnd =
    "UPDATE course_reservation SET state = 'RELEASED', released_at = $3 "
    "WHERE booking_id = $1 AND slot_id = $2 AND state = 'RESERVED' RETURNING players";
constexpr std::string_view kEndAgain =
    "UPDATE course_reservation SET state = 'RELEASED', released_at = $3 "
    "WHERE booking_id = $1 AND slot_id = $2 RETURNING players";

// The seats that the booking had, if it had any until now.
std::optional<std::int64_t> end_reservation(Transaction& tx, const golf::SlotRelease& wanted) {
  const skald::Rows rows = tx.query(skald::seam::holds(Rule::release_looks_at_state) ? kEnd : kEndAgain,
                                    wanted.booking_id, wanted.slot_id, tx.now());
  if (rows.empty()) return std::nullopt;
  return rows.get<std::int64_t>(0, 0);
}

// So that the reserve that is still under way is refused. False: there is a row already.
bool remember(Transaction& tx, const golf::SlotRelease& wanted) {
  if (!skald::seam::holds(Rule::early_release_remembered)) return true;
  return tx.execute(
             "INSERT INTO course_reservation (booking_id, slot_id, players, state, created_at, released_at) "
             "VALUES ($1, $2, 0, 'RELEASED', $3, $3) ON CONFLICT (booking_id, slot_id) DO NOTHING",
             wanted.booking_id, wanted.slot_id, tx.now()) == 1;
}

constexpr std::string_view kGiveBack =
    "UPDATE course_slot SET booked_players = booked_players - $2, version = version + 1, "
    "status = CASE WHEN status = 'FULLY_BOOKED' THEN 'AVAILABLE' ELSE status END "
    "WHERE id = $1 AND booked_players >= $2";
constexpr std::string_view kGiveBackAndOpen =
    "UPDATE course_slot SET booked_players = booked_players - $2, version = version + 1, status = 'AVAILABLE' "
    "WHERE id = $1 AND booked_players >= $2";

// The slot as it is then. What is closed stays closed.
StoredSlot give_back(Transaction& tx, const std::string& slot_id, std::int64_t players) {
  const auto changed =
      tx.execute(skald::seam::holds(Rule::closed_stays_closed) ? kGiveBack : kGiveBackAndOpen, slot_id, players);
  const auto slot = tx.find<StoredSlot>(slot_id);
  if (changed != 1 || !slot)
    throw skald::Corrupt("SEATS_MISSING", "slot " + slot_id + " has not the " + std::to_string(players) +
                                              " seats that a reservation holds: look at /booking/course/invariants");
  return *slot;
}

}  // namespace

void SagaHandler::release(Transaction& tx, const skald::Message& message) const {
  const skald::Instant begun = env_.clock.steady();
  const auto wanted = skald::from_lenient_json<golf::SlotRelease>(message.event.payload);
  check(wanted);
  SagaLine line(wanted.booking_id, wanted.slot_id, message);
  const auto end = [&](std::string_view metric, std::string_view text) {
    tell_at_commit(tx, env_, {metric, "course_release_seconds", text}, line, begun);
  };
  const auto answer_released = [&](std::int64_t players) {
    line.players = players;
    answer(tx, "slot.released", golf::SlotReleased{wanted.booking_id, wanted.slot_id, players},
           message.event.traceparent);
  };

  auto players = end_reservation(tx, wanted);
  if (!players) {
    if (remember(tx, wanted)) {
      answer_released(0);
      return end("course_released_early_total", "a release came before its reserve and is remembered");
    }
    // The row that was in the way may be a reservation that was made in between.
    players = end_reservation(tx, wanted);
  }
  if (!players) return end("course_duplicates_total", "a release came again and changes nothing");
  const StoredSlot slot = give_back(tx, wanted.slot_id, *players);
  line.show(slot);
  answer_released(*players);
  tell_changed(tx, slot, message.event.traceparent);
  end("course_released_total", "seats are released");
}

}  // namespace course
