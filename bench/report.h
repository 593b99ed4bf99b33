// What was measured: printed as tables while it goes, and kept in RESULTS.md with
// a chart beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.h"

namespace bench {

// A ratio that has to be reached (at_least) or kept (at_most).
struct Target {
  enum class Kind { at_least, at_most };
  Kind kind;
  double value;
};

class Report {
 public:
  explicit Report(Options options) : options_(std::move(options)) {}

  // A line under the title that stands before the tables.
  void setting(const std::string& what, const std::string& value);
  // A table of its own; also printed at once.
  void table(const std::string& title, const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows);
  // A promise and what became of it.
  void check(const std::string& what, Target target, double measured, const std::string& unit = "x");
  // A group of bars for the chart.
  struct Bar {
    std::string name;
    double value;
  };
  void chart(const std::string& title, const std::string& unit, std::vector<Bar> bars);

  // Prints the promises; whether all were kept.
  bool finish();

 private:
  struct Check {
    std::string what, target, measured;
    bool kept;
  };
  struct Chart {
    std::string title, unit;
    std::vector<Bar> bars;
  };
  std::string markdown() const;
  std::string svg() const;
  void write_results() const;

  Options options_;
  std::vector<std::pair<std::string, std::string>> settings_;
  std::vector<Check> checks_;
  std::vector<Chart> charts_;
  std::string tables_;  // as Markdown
};

std::string number(double value, int decimals = 0);

}  // namespace bench
