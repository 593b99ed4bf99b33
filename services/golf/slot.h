// Tee times and their reservations as services tell each other of them and clients see them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skald/json.h"
#include "skald/time.h"

namespace golf {

enum class SlotStatus { AVAILABLE, FULLY_BOOKED, CLOSED };
BOOST_DESCRIBE_ENUM(SlotStatus, AVAILABLE, FULLY_BOOKED, CLOSED)

// The version counts every change: of two copies the one with the higher version is the newer.
struct Slot {
  std::string id, course_id;
  skald::Time starts_at{};
  std::int64_t max_players = 0, booked_players = 0;
  std::int64_t price_per_player = 0;  // minor units
  std::string currency;
  SlotStatus status = SlotStatus::AVAILABLE;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Slot, (),
                      (id, course_id, starts_at, max_players, booked_players, price_per_player, currency, status,
                       version))

// Seats of a slot in the hands of a booking. One that was RELEASED stays: what comes late
// must find it.
enum class ReservationState { RESERVED, RELEASED };
BOOST_DESCRIBE_ENUM(ReservationState, RESERVED, RELEASED)

struct Reservation {
  std::string booking_id, slot_id;
  std::int64_t players = 0;
  ReservationState state = ReservationState::RESERVED;
  skald::Time created_at{};
  std::optional<skald::Time> released_at;
};
BOOST_DESCRIBE_STRUCT(Reservation, (), (booking_id, slot_id, players, state, created_at, released_at))

}  // namespace golf
