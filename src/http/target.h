// The target of a request line: path and query, decoded strictly.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace skald::http {

inline constexpr std::size_t kTargetBytesMax = 8192;
inline constexpr std::size_t kSegmentsMax = 32;
inline constexpr std::size_t kQueryFieldsMax = 64;

struct Target {
  std::vector<std::string> segments;         // decoded; a slash inside of one was %2F
  std::string path;                          // the segments again, encoded in one canonical way
  std::map<std::string, std::string> query;  // decoded
};

// Takes the origin form only ("/a/b?c=d"). Malformed (BAD_TARGET) on bad escapes,
// NUL, text that is no UTF-8, a query field given twice, and beyond the bounds.
Target parse_target(std::string_view text);

// Percent-encodes everything but letters, digits and -._~
std::string encode_segment(std::string_view text);

}  // namespace skald::http
