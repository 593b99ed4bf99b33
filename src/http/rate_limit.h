// How often: requests of each caller, and lines in the log. Thread safe; time is handed in.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "skald/env.h"

namespace skald::http {

// So many a second for each of many, up to a second's worth of them at once.
class RateLimit {
 public:
  explicit RateLimit(std::int64_t per_second) : per_second_(per_second) {}  // 0: no limit

  // Takes one for `who`. Where there is none left: how long until there is.
  std::optional<Duration> take(std::string_view who, Instant now);

 private:
  Instant& paid_until(std::string_view who, Instant now);

  const std::int64_t per_second_;
  std::mutex mutex_;
  std::map<std::string, Instant, std::less<>> paid_until_;  // of those that have used some
  Instant sweep_again_{};
};

// Lets one line a second through.
class LogGate {
 public:
  // How many were kept back since the last line that went through; nothing: this one is, too.
  std::optional<std::int64_t> pass(Instant now);

 private:
  std::mutex mutex_;
  std::optional<Instant> last_;
  std::int64_t kept_back_ = 0;
};

}  // namespace skald::http
