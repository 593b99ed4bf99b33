// Booking numbers: "BK-7Q2M4X". Drawn by chance, so that nobody can tell how many there are
// or guess the next; without letters and digits that look alike.
#pragma once

#include <string>
#include <string_view>

#include "skald/database.h"
#include "skald/env.h"

namespace booking {

bool is_number(std::string_view text);

std::string draw_number(skald::Random& random);
// Finds the booking that has it.
inline constexpr std::string_view kFindNumber = "SELECT 1 FROM booking_record WHERE number = $1";

// One that no booking has. Unavailable where chance finds none.
std::string free_number(skald::Transaction& tx, skald::Random& random);

}  // namespace booking
