#include "http/rate_limit.h"

#include <algorithm>
#include <utility>

namespace skald::http {
namespace {

constexpr std::size_t kKnownMax = 10'000;
constexpr Duration kBurst = 1s;

}  // namespace

// Each request pays for its part of a second, in advance: whoever is a second ahead waits.
std::optional<Duration> RateLimit::take(std::string_view who, Instant now) {
  if (per_second_ == 0) return std::nullopt;
  const Duration price = std::max(Duration(1), Duration(1s) / per_second_);
  const std::lock_guard lock(mutex_);
  Instant& paid = paid_until(who, now);
  const Instant from = std::max(paid, now);
  const Duration ahead = from + price - now;
  if (ahead > kBurst) return ahead - kBurst;
  paid = from + price;
  return std::nullopt;
}

// Names are many and a stranger chooses them. Those that are not ahead are as good as unknown
// ones; where even that leaves too many, newcomers share one place.
Instant& RateLimit::paid_until(std::string_view who, Instant now) {
  const auto found = paid_until_.find(who);
  if (found != paid_until_.end()) return found->second;
  if (paid_until_.size() >= kKnownMax && now >= sweep_again_) {
    std::erase_if(paid_until_, [&](const auto& one) { return one.second <= now; });
    sweep_again_ = now + kBurst;
  }
  return paid_until_[paid_until_.size() >= kKnownMax ? std::string() : std::string(who)];
}

std::optional<std::int64_t> LogGate::pass(Instant now) {
  const std::lock_guard lock(mutex_);
  if (last_ && now - *last_ < Duration(1s)) {
    ++kept_back_;
    return std::nullopt;
  }
  last_ = now;
  return std::exchange(kept_back_, 0);
}

}  // namespace skald::http
