// Unique ids that sort by time: 48 bits of milliseconds, 10 of the microsecond within, and 70
// of chance, in Crockford's base 32 (26 characters). What emit() draws for an event without one.
#pragma once

#include <string>
#include <string_view>

#include "skald/env.h"

namespace skald {

std::string make_id(Time now, Random& random);

// Whether a text can name something by its id: 1 to 64 letters, digits, '-' or '_'. Such a text
// may be a part of a path.
bool is_id(std::string_view text);

}  // namespace skald
