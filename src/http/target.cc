#include "http/target.h"

#include "base/text.h"
#include "skald/error.h"

namespace skald::http {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Malformed("BAD_TARGET", "the request's path or query " + why);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) refuse("has a '%' that two hexadecimal digits do not follow");
      if (high == 0 && low == 0) refuse("contains the NUL character");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (!is_utf8(out)) refuse("is not UTF-8");
  return out;
}

// Calls `take` with each part between separators.
template <class F>
void split(std::string_view text, char separator, F&& take) {
  for (;;) {
    const auto end = text.find(separator);
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string encode_segment(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

Target parse_target(std::string_view text) {
  if (text.size() > kTargetBytesMax) refuse("is longer than " + std::to_string(kTargetBytesMax) + " bytes");
  if (text.empty() || text[0] != '/') refuse("must begin with '/'");
  for (char c : text)
    if (c <= ' ' || c >= 0x7f || c == '#') refuse("has characters that must be percent-encoded");

  Target out;
  const auto mark = text.find('?');
  const std::string_view path = text.substr(1, mark == std::string_view::npos ? mark : mark - 1);
  if (!path.empty()) {
    split(path, '/', [&](std::string_view part) {
      if (out.segments.size() == kSegmentsMax) refuse("has more than " + std::to_string(kSegmentsMax) + " segments");
      out.segments.push_back(decode(part, false));
      out.path += '/' + encode_segment(out.segments.back());
    });
  } else {
    out.path = "/";
  }

  if (mark == std::string_view::npos) return out;
  split(text.substr(mark + 1), '&', [&](std::string_view field) {
    if (field.empty()) return;
    if (out.query.size() == kQueryFieldsMax)
      refuse("has more than " + std::to_string(kQueryFieldsMax) + " query fields");
    const auto equals = field.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : field.substr(equals + 1);
    if (!out.query.emplace(decode(field.substr(0, equals), true), decode(value, true)).second)
      refuse("gives a query field twice");
  });
  return out;
}

}  // namespace skald::http
