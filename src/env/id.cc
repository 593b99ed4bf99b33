#include "skald/id.h"

#include <algorithm>

namespace skald {

std::string make_id(Time now, Random& random) {
  static constexpr char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const auto micros = static_cast<std::uint64_t>(to_micros(now));
  const std::uint64_t first = random.next(), second = random.next();
  std::string out(26, '0');
  const auto write = [&](std::uint64_t value, std::size_t begin, std::size_t end) {
    for (; end > begin; value >>= 5) out[--end] = digits[value & 31];
  };
  write(micros / 1000 & 0xffffffffffff, 0, 10);
  write(micros % 1000, 10, 12);
  write(first, 12, 18);
  write(second, 18, 26);
  return out;
}

bool is_id(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, plain);
}

}  // namespace skald
