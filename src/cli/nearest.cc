#include "cli/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace skald::cli {
namespace {

// Letters to insert, delete or replace to get from one to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kWordMax = 100;
  if (word.size() > kWordMax) return "";
  std::size_t best = std::max<std::size_t>(2, word.size() / 2);
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    if (const std::size_t d = distance(word, candidate); d <= best && (nearest == nullptr || d < best)) {
      best = d;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? "" : ", did you mean " + *nearest + "?";
}

}  // namespace skald::cli
