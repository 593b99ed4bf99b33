// Text that is cut to fit.
#pragma once

#include <string>
#include <string_view>

namespace skald {

// At most `bytes_max` bytes, never ending in the middle of a character; bytes
// that are no UTF-8 become '?', so that the result can always be stored.
std::string cut_text(std::string_view text, std::size_t bytes_max);

// How many bytes at the end are the beginning of a character whose rest is still to come.
std::size_t unfinished_bytes(std::string_view text);

}  // namespace skald
