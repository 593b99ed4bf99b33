// The line of the fallback file that holds one record.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skald {

// With its newline. Throws Invalid (FALLBACK_RECORD).
std::string format_fallback_line(std::string_view record);

struct FallbackLine {
  std::optional<std::string_view> record;  // points into the line
  std::string_view why;                    // where there is none
};

// `line` is without its newline.
FallbackLine parse_fallback_line(std::string_view line);

}  // namespace skald
