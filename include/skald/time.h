// Points in time and durations. Stored as BIGINT microseconds since 1970,
// shown as RFC 3339 in UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace skald {

using namespace std::chrono_literals;

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;

constexpr std::int64_t to_micros(Time time) { return time.time_since_epoch().count(); }
constexpr Time from_micros(std::int64_t micros) { return Time(Duration(micros)); }

// 2026-11-15T20:41:08.123456Z; the fraction is left out where it is zero.
std::string format_time(Time time);

// Takes any RFC 3339 time, with offset; throws Invalid with code BAD_TIME.
Time parse_time(std::string_view text);

}  // namespace skald
