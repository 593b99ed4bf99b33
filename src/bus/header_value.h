// What may stand in a header of a message.
#pragma once

#include <algorithm>
#include <string_view>

namespace skald {

// Anything but visible ASCII in a header's value could end the header.
inline bool fits_header(std::string_view text) {
  return !text.empty() && text.size() <= 256 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace skald
