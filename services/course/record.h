// Courses, tee times and reservations as they are stored.
#pragma once

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
BOOST_DESCRIBE_STRUCT(StoredSlot, (golf::Slot), (created_at))

}  // namespace course

template <>
struct skald::Table<course::Course> {
  static constexpr std::string_view name = "course_course", key = "id";
};
template <>
struct skald::Table<course::StoredSlot> {
  static constexpr std::string_view name = "course_slot", key = "id", resource = "slot";
};
// The record by which a repeated reserve or release is known: it stays for as long as the
// slot does. RELEASED with no players: the release came first, and the reserve behind it is
// refused.
template <>
struct skald::Table<golf::Reservation> {
  static constexpr std::string_view name = "course_reservation", key = "booking_id";
};
