// Booking numbers: "BK-7Q2M4X". Drawn by chance, so that nobody can tell how many there are
// or guess the next; without letters and digits that look alike.
#pragma once

#include <string>

#include "skald/database.h"
#include "skald/env.h"

namespace booking {

bool is_number(std::string_view text);

// One that no booking has. Unavailable where chance finds none.
std::string free_number(skald::Transaction& tx, skald::Random& random);

}  // namespace booking
