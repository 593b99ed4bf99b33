// What somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace skald::cli {

// ", did you mean NAME?" for the candidate that is nearest to `word`, or nothing
// where none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace skald::cli
