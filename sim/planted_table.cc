#include "sim/planted_table.h"

#include <algorithm>
#include <iomanip>

namespace skald::sim {

void print_planted(std::ostream& out, std::span<const PlantedRow> rows) {
  const PlantedRow head{"rule", "what is broken", "caught by", "after"};
  std::size_t rule = head.rule.size(), bug = head.bug.size();
  for (const PlantedRow& row : rows) {
    rule = std::max(rule, row.rule.size());
    bug = std::max(bug, row.bug.size());
  }
  const auto print = [&](const PlantedRow& row) {
    out << std::left << std::setw(static_cast<int>(rule)) << row.rule << "  " << std::setw(static_cast<int>(bug))
        << row.bug << "  " << std::setw(10) << (row.caught_by.empty() ? "NOT CAUGHT" : row.caught_by) << "  "
        << row.after << "\n";
  };
  print(head);
  for (const PlantedRow& row : rows) print(row);
}

}  // namespace skald::sim
