// The form in which HTTP writes points in time.
#pragma once

#include <string>

#include "skald/time.h"

namespace skald::http {

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7); fractions of a second are cut.
std::string http_date(Time time);

}  // namespace skald::http
