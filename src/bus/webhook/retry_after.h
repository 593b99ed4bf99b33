// The Retry-After header (RFC 9110, 10.2.3).
#pragma once

#include <optional>
#include <string>

#include "skald/time.h"

namespace skald {

// A receiver may not silence us for longer.
inline constexpr Duration kRetryAfterMax = 24h;

// Seconds or an HTTP date; a date in the past is zero, anything else nothing.
std::optional<Duration> parse_retry_after(const std::string& value, Time now);

}  // namespace skald
