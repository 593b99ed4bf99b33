// Courses, tee times and reservations as they are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "golf/slot.h"
#include "skald/json.h"
#include "skald/row.h"

namespace course {

struct Course {
  std::string id, name;
  skald::Time created_at{};
};
BOOST_DESCRIBE_STRUCT(Course, (), (id, name, created_at))

// 0 <= booked_players <= max_players, and booked_players is the sum of the RESERVED
// reservations, always. Not golf::Slot itself: other services keep that in tables of their own.
struct StoredSlot : golf::Slot {
  skald::Time created_at{};
};
BOOST_DESCRIBE_STRUCT(StoredSlot, (),
                      (id, course_id, starts_at, max_players, booked_players, price_per_player, currency, status,
                       version, created_at))

enum class ReservationState { RESERVED, RELEASED };
BOOST_DESCRIBE_ENUM(ReservationState, RESERVED, RELEASED)

// What a booking has of a slot: the record by which a repeated reserve or release is known,
// so that it stays for as long as the slot does. RELEASED with no players: the release came
// first, and the reserve behind it is refused.
struct Reservation {
  std::string booking_id, slot_id;
  std::int64_t players = 0;
  ReservationState state = ReservationState::RESERVED;
  skald::Time created_at{};
  std::optional<skald::Time> released_at;
};
BOOST_DESCRIBE_STRUCT(Reservation, (), (booking_id, slot_id, players, state, created_at, released_at))

}  // namespace course

template <>
struct skald::Table<course::Course> {
  static constexpr std::string_view name = "course_course", key = "id";
};
template <>
struct skald::Table<course::StoredSlot> {
  static constexpr std::string_view name = "course_slot", key = "id", resource = "slot";
};
template <>
struct skald::Table<course::Reservation> {
  static constexpr std::string_view name = "course_reservation", key = "booking_id";
};
