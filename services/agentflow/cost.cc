#include "agentflow/cost.h"

#include <charconv>
#include <cmath>

#include "skald/error.h"
#include "skald/json.h"

namespace agentflow {
namespace {

constexpr double kCostMax = 1e9;
constexpr std::size_t kPatternMax = 1'000, kJsonPathMax = 200, kJsonValuesMax = 20'000;

// The polynomial kind never goes back over the line: neither a hostile line nor a careless pattern can take for ever or
// exhaust the stack. It knows no back-references.
std::regex compiled(const std::string& pattern) {
  if (pattern.size() > kPatternMax) throw skald::Invalid("BAD_COST_RULE", "is longer than 1000 bytes");
  try {
    std::regex out(pattern, std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
    if (out.mark_count() != 1)
      throw skald::Invalid("BAD_COST_RULE", "needs one group, which is the number: cost ([0-9.]+)");
    return out;
  } catch (const std::regex_error& error) {
    throw skald::Invalid("BAD_COST_RULE", std::string("is no regular expression: ") + error.what());
  }
}

void check_json_path(const std::string& path) {
  if (path.size() > kJsonPathMax || path.front() == '.' || path.back() == '.' || path.find("..") != path.npos)
    throw skald::Invalid("BAD_COST_RULE", "names members with dots between them: usage.total_cost");
}

std::optional<double> number_at(const boost::json::value& root, std::string_view path) {
  const boost::json::value* at = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto* const object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains(path.substr(begin, end - begin));
    if (at == nullptr) return std::nullopt;
    begin = end + 1;
  }
  boost::system::error_code error;
  const double number = at->is_number() ? at->to_number<double>(error) : NAN;
  return error ? std::nullopt : std::optional(number);
}

std::optional<double> credible(double number) {
  if (!std::isfinite(number) || number < 0 || number > kCostMax) return std::nullopt;
  return number;
}

}  // namespace

void check(const CostRule& rule) {
  if (!rule.pattern.empty() && !rule.json.empty())
    throw skald::Invalid("BAD_COST_RULE", "has both a pattern and a JSON path: choose one");
  if (!rule.pattern.empty()) compiled(rule.pattern);
  if (!rule.json.empty()) check_json_path(rule.json);
}

CostReader::CostReader(const CostRule& rule)
    : json_(rule.json), line_max_(rule.pattern.empty() ? kJsonLineMax : kPatternLineMax) {
  check(rule);
  if (!rule.pattern.empty()) pattern_ = compiled(rule.pattern);
}

void CostReader::read(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::size_t room = line_max_ - line_.size();
    cut_ = cut_ || end > room;
    line_.append(bytes.substr(0, std::min(end, room)));
    if (end == bytes.size()) return;
    finish();
    bytes.remove_prefix(end + 1);
  }
}

void CostReader::finish() {
  if (!line_.empty()) look_at_line();
  line_.clear();
  cut_ = false;
}

void CostReader::look_at_line() {
  if (pattern_) {
    const std::sregex_iterator none;
    for (std::sregex_iterator match(line_.begin(), line_.end(), *pattern_); match != none; ++match) note(match->str(1));
    return;
  }
  if (cut_ || json_.empty() || line_.find('{') == line_.npos) return;
  try {
    if (const auto number = number_at(skald::json::parse(line_, kJsonValuesMax), json_))
      if (const auto cost = credible(*number)) cost_ = cost;
  } catch (const skald::Error&) {
    return;  // a line that only looks like JSON
  }
}

void CostReader::note(std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return;
  if (const auto cost = credible(value)) cost_ = cost;
}

}  // namespace agentflow
