// Characters that steer what shows a text instead of being shown: control characters (C0 with
// ESC, DEL, C1), line and paragraph separators (U+2028, U+2029), and those that turn the
// direction of writing (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069). Nobody needs
// them in a name, and with them one text can look like another or drive a terminal.
//
//   if (has_controls(name)) throw Invalid("BAD_NAME", "…");
//
// Text is UTF-8; bytes that are none are left alone. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>

namespace skald {

// What free text of several lines may have.
inline constexpr std::string_view kLineBreaks = "\n\r\t";

// `allowed`: ASCII characters that do not count.
bool has_controls(std::string_view text, std::string_view allowed = {});

// Each of them as JSON would escape it: "\u001b". In a JSON text the result is the same value;
// there keep kLineBreaks, which stand between its parts only.
std::string escape_controls(std::string_view text, std::string_view kept = {});

}  // namespace skald
