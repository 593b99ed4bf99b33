// A tee time as its services tell each other of it, and as clients see it.
#pragma once

#include <cstdint>
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

}  // namespace golf
