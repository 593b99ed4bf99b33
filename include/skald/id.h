// Unique ids that sort by time: 48 bits of milliseconds and 80 of chance, in
// Crockford's base 32 (26 characters). What emit() draws for an event without one.
#pragma once

#include <string>

#include "skald/env.h"

namespace skald {

std::string make_id(Time now, Random& random);

}  // namespace skald
