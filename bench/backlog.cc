#include "backlog.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace bench {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Backlog backlog_of(std::span<const double> samples) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (samples.size() < 3) return {kUnknown, kUnknown, kUnknown};
  const std::size_t third = samples.size() / 3;
  return {mean(samples.first(third)), mean(samples.last(third)), *std::ranges::max_element(samples)};
}

}  // namespace bench
