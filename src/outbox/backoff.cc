#include "outbox/backoff.h"

#include <algorithm>

namespace skald::outbox {

Duration backoff(const OutboxOptions& options, int failures, std::optional<Duration> asked_for, Random& random) {
  constexpr Duration longest = 24h;
  Duration wait = options.backoff_first;
  for (int i = 1; i < failures && wait < longest; ++i) wait *= 2;
  const double chance = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
  wait += Duration(static_cast<std::int64_t>(static_cast<double>(wait.count()) * options.jitter * chance));
  return std::min(std::max(wait, asked_for.value_or(Duration::zero())), longest);
}

}  // namespace skald::outbox
