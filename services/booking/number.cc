#include "booking/number.h"

#include <algorithm>

namespace booking {
namespace {

constexpr std::string_view kPrefix = "BK-";
constexpr std::string_view kLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";  // 32 of them
constexpr std::size_t kLength = 6;
constexpr int kDraws = 20;

}  // namespace

std::string draw_number(skald::Random& random) {
  std::uint64_t bits = random.next();
  std::string out(kPrefix);
  for (std::size_t i = 0; i < kLength; ++i, bits >>= 5) out += kLetters[bits & 31];
  return out;
}

bool is_number(std::string_view text) {
  return text.size() == kPrefix.size() + kLength && text.starts_with(kPrefix) &&
         std::ranges::all_of(text.substr(kPrefix.size()), [](char c) { return kLetters.find(c) != kLetters.npos; });
}

std::string free_number(skald::Transaction& tx, skald::Random& random) {
  for (int i = 0; i < kDraws; ++i) {
    std::string number = draw_number(random);
    if (tx.query(kFindNumber, number).empty()) return number;
  }
  throw skald::Unavailable("NO_NUMBER", "no free booking number was found; try again");
}

}  // namespace booking
