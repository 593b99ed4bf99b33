#include "booking/slot_copy.h"

#include "env/seam.h"

namespace booking {

const std::string_view kFindCopy =
    "SELECT course_id, starts_at, max_players, booked_players, price_per_player, currency, status, version FROM "
    "booking_slot WHERE id = $1";

std::optional<golf::Slot> find_copy(skald::Transaction& tx, const std::string& id) {
  return copy_in(tx.query(kFindCopy, id), id);
}

std::optional<golf::Slot> copy_in(const skald::Rows& rows, const std::string& id) {
  if (rows.empty()) return std::nullopt;
  return golf::Slot{id,
                    rows.get<std::string>(0, 0),
                    rows.get<skald::Time>(0, 1),
                    rows.get<std::int64_t>(0, 2),
                    rows.get<std::int64_t>(0, 3),
                    rows.get<std::int64_t>(0, 4),
                    rows.get<std::string>(0, 5),
                    rows.get<golf::SlotStatus>(0, 6),
                    rows.get<std::int64_t>(0, 7)};
}

void learn(skald::Transaction& tx, const golf::Slot& slot) {
  if (!skald::seam::holds(skald::seam::Rule::newer_copy_kept))
    tx.enqueue("DELETE FROM booking_slot WHERE id = $1", slot.id);
  tx.enqueue(
      "INSERT INTO booking_slot (id, course_id, starts_at, max_players, booked_players, price_per_player, currency, "
      "status, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO UPDATE SET "
      "starts_at = excluded.starts_at, max_players = excluded.max_players, booked_players = excluded.booked_players, "
      "price_per_player = excluded.price_per_player, currency = excluded.currency, status = excluded.status, "
      "version = excluded.version WHERE booking_slot.version < excluded.version",
      slot.id, slot.course_id, slot.starts_at, slot.max_players, slot.booked_players, slot.price_per_player,
      slot.currency, slot.status, slot.version);
}

}  // namespace booking
