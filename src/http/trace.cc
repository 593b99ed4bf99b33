#include "http/trace.h"

#include <algorithm>

namespace skald::http {
namespace {

constexpr std::size_t kLength = 55;  // of version 00

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

// 16 digits that are not all zero, which would mean "none".
std::string hex64(Random& random) {
  static constexpr char digits[] = "0123456789abcdef";
  std::uint64_t bits = random.next() | 1;
  std::string out(16, '0');
  for (auto place = out.rbegin(); place != out.rend(); ++place, bits >>= 4) *place = digits[bits & 15];
  return out;
}

}  // namespace

bool is_traceparent(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const std::string_view version = text.substr(0, 2), trace = text.substr(3, 32), span = text.substr(36, 16);
  if (!is_hex(version) || !is_hex(trace) || !is_hex(span) || !is_hex(text.substr(53, 2))) return false;
  // Later versions may add fields behind another dash; 00 may not.
  if (version == "ff" || (text.size() > kLength && (version == "00" || text[kLength] != '-'))) return false;
  return !is_zero(trace) && !is_zero(span);
}

std::string continue_trace(std::string_view incoming, Random& random) {
  if (is_traceparent(incoming))
    return "00-" + std::string(trace_id(incoming)) + '-' + hex64(random) + '-' + std::string(incoming.substr(53, 2));
  std::string trace = hex64(random);
  trace += hex64(random);
  return "00-" + trace + '-' + hex64(random) + "-01";
}

std::string_view trace_id(std::string_view traceparent) { return traceparent.substr(3, 32); }

}  // namespace skald::http
