#include "skald/controls.h"

namespace skald {
namespace {

struct Control {
  std::size_t bytes = 0;  // 0: there is none
  unsigned code = 0;
};

Control control_in_front(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1), third = byte(2);
  if (first < 0x20 || first == 0x7f) return {1, first};
  if (first == 0xc2 && second >= 0x80 && second <= 0x9f) return {2, second};
  if (first == 0xd8 && second == 0x9c) return {2, 0x061c};
  const bool separates_or_turns = third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae);
  if (first == 0xe2 && second == 0x80 && separates_or_turns) return {3, 0x2000 + (third & 0x3f)};
  if (first == 0xe2 && second == 0x81 && third >= 0xa6 && third <= 0xa9) return {3, 0x2040 + (third & 0x3f)};
  return {};
}

}  // namespace

bool has_controls(std::string_view text, std::string_view allowed) {
  for (; !text.empty(); text.remove_prefix(1))
    if (control_in_front(text).bytes != 0 && allowed.find(text[0]) == allowed.npos) return true;
  return false;
}

std::string escape_controls(std::string_view text, std::string_view kept) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Control control = control_in_front(text);
    if (control.bytes == 0 || kept.find(text[0]) != kept.npos) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    out += "\\u";
    for (const int shift : {12, 8, 4, 0}) out += hex[(control.code >> shift) & 15];
    text.remove_prefix(control.bytes);
  }
  return out;
}

}  // namespace skald
