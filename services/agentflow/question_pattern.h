// Questions that an agent writes as a line of its output, found by a preset's regular expression.
//
// The expression is matched in time that is polynomial in the line, which is bounded: none can hang the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentflow {

inline constexpr std::int64_t kQuestionTailMax = 16 << 10;  // bytes at the end of an output that are looked at

// Invalid (BAD_QUESTION_PATTERN): no ECMAScript expression with exactly one group, more than 200 bytes, or with a counted
// repetition or a back reference, which take too long.
void check_question_pattern(const std::string& pattern);

// What the group has in the last of the last 20 lines that holds a match; of a line, its first 1,000 bytes are looked at.
std::optional<std::string> question_in(const std::string& pattern, std::string_view output);

}  // namespace agentflow
