#include "bus/webhook/retry_after.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>

namespace skald {

std::optional<Duration> parse_retry_after(const std::string& value, Time now) {
  if (value.empty()) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t seconds = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), seconds);
    constexpr std::int64_t longest = std::chrono::floor<std::chrono::seconds>(kRetryAfterMax).count();
    if (read.ec != std::errc() || seconds > longest) return kRetryAfterMax;
    return std::chrono::seconds(seconds);
  }
  const std::time_t date = curl_getdate(value.c_str(), nullptr);
  if (date == -1) return std::nullopt;
  // In seconds: a date far away would overflow microseconds.
  const std::int64_t seconds = date - std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  return std::clamp<Duration>(std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, 1'000'000)), 0s,
                              kRetryAfterMax);
}

}  // namespace skald
