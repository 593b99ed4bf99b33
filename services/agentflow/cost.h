// What an agent says of its cost, read from its output as that grows. The last word counts.
//
//   CostReader reader({.pattern = R"(Total cost: \$([0-9.]+))"});
//   reader.read("Total cost: $0.25\n");
//   reader.cost();  // 0.25
//
// The output is somebody else's: a line is looked at up to a bound and the rest of it is passed over, a number that is
// negative or beyond 10^9 is none, and a pattern takes time in proportion to the line, whatever it is.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace agentflow {

// One of both, or none.
struct CostRule {
  std::string pattern = {};  // a regular expression with one group, which is the number
  std::string json = {};     // members with dots between them, into a line that is a JSON object: usage.total_cost
  bool empty() const { return pattern.empty() && json.empty(); }
};

// Invalid (BAD_COST_RULE): the sentence says what is wrong with it.
void check(const CostRule& rule);

// Thread safety: one thread at a time.
class CostReader {
 public:
  static constexpr std::size_t kPatternLineMax = 4 << 10, kJsonLineMax = 1 << 20;

  explicit CostReader(const CostRule& rule);  // as check()

  void read(std::string_view bytes);
  // There is no more: what stands behind the last line's end is a line, too.
  void finish();
  std::optional<double> cost() const { return cost_; }

 private:
  void look_at_line();
  void note(std::string_view number);

  std::optional<std::regex> pattern_;
  std::string json_;
  std::size_t line_max_;
  std::string line_;  // the one that has not ended
  bool cut_ = false;  // it is longer than line_max_
  std::optional<double> cost_;
};

}  // namespace agentflow
