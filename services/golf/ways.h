// Which events go from one service of the booking system to another: what events.h says, for
// those who carry them.
#pragma once

#include <string_view>

namespace golf {

struct Way {
  std::string_view type, from, to;
};

inline constexpr Way kWays[] = {
    {"slot.reserve", "booking", "course"},      {"slot.release", "booking", "course"},
    {"slot.reserved", "course", "booking"},     {"slot.reserve.failed", "course", "booking"},
    {"slot.released", "course", "booking"},     {"slot.changed", "course", "booking"},
    {"booking.confirmed", "booking", "notify"}, {"booking.failed", "booking", "notify"},
    {"booking.cancelled", "booking", "notify"},
};

}  // namespace golf
