#include "agentflow/question_pattern.h"

#include <regex>
#include <vector>

#include "skald/error.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kPatternMax = 200, kLineSeenMax = 1'000;
constexpr int kLinesSeen = 20;

[[noreturn]] void refuse_pattern(const std::string& why) {
  throw skald::Invalid("BAD_QUESTION_PATTERN",
                       "question_pattern " + why + "; write one like \"^QUESTION: (.*)$\" with one group");
}

// The flag is libstdc++'s: no backtracking, so no expression takes exponential time.
std::regex compiled(const std::string& pattern) {
  return std::regex(pattern, std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
}

bool counts(const std::string& pattern) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '\\') ++at;
    else if (pattern[at] == '{') return true;
  }
  return false;
}

// The last ones, the last first.
std::vector<std::string_view> last_lines(std::string_view output) {
  std::vector<std::string_view> out;
  while (!output.empty() && out.size() < kLinesSeen) {
    if (output.ends_with('\n')) output.remove_suffix(1);
    const std::size_t before = output.rfind('\n');
    const std::size_t begin = before == output.npos ? 0 : before + 1;
    std::string_view line = output.substr(begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line.substr(0, kLineSeenMax));
    output = output.substr(0, begin);
  }
  return out;
}

}  // namespace

void check_question_pattern(const std::string& pattern) {
  if (pattern.empty() || pattern.size() > kPatternMax) refuse_pattern("must have 1 to 200 bytes");
  if (counts(pattern)) refuse_pattern("has a counted repetition ({…}), which may take too long");
  try {
    if (compiled(pattern).mark_count() != 1) refuse_pattern("must have exactly one group");
  } catch (const std::regex_error& error) {
    refuse_pattern("is no regular expression that can be used here: " + std::string(error.what()));
  }
}

std::optional<std::string> question_in(const std::string& pattern, std::string_view output) {
  const std::regex expression = compiled(pattern);
  for (const std::string_view line : last_lines(output)) {
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, expression) || match.size() != 2) continue;
    const std::string text = skald::cut_text(match[1].str(), kLineSeenMax);
    if (!text.empty()) return text;
  }
  return std::nullopt;
}

}  // namespace agentflow
