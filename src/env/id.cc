#include "skald/id.h"

#include <algorithm>

namespace skald {

std::string make_id(Time now, Random& random) {
  static constexpr char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const auto millis = static_cast<std::uint64_t>(to_micros(now) / 1000) & 0xffffffffffff;
  const std::uint64_t first = random.next(), second = random.next();
  std::string out(26, '0');
  std::uint64_t time = millis;
  for (int i = 9; i >= 0; --i, time >>= 5) out[static_cast<std::size_t>(i)] = digits[time & 31];
  // 80 bits are 16 digits: 40 bits from each draw.
  std::uint64_t left = first, right = second;
  for (int i = 17; i >= 10; --i, left >>= 5) out[static_cast<std::size_t>(i)] = digits[left & 31];
  for (int i = 25; i >= 18; --i, right >>= 5) out[static_cast<std::size_t>(i)] = digits[right & 31];
  return out;
}

bool is_id(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, plain);
}

}  // namespace skald
