#include "cli/output.h"

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "skald/controls.h"

namespace skald::cli {
namespace {

constexpr std::size_t kCellBytesMax = 180;
constexpr std::size_t kCellWidthMax = 60;

// Characters, not bytes; wide ones count as one.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cell_text(std::string_view text) {
  std::string out = printable(cut_text(text, kCellBytesMax));
  while (width(out) > kCellWidthMax) out = cut_text(out, out.size() - 1);
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  return escape_controls(cut_text(text, text.size()), kept);
}

void print_json(std::ostream& out, std::string_view json) { out << printable(json, kLineBreaks) << '\n'; }

void print_table(std::ostream& out, const std::vector<std::string>& headers,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> cells = {headers};
  for (const auto& row : rows) {
    cells.emplace_back();
    for (const std::string& cell : row) cells.back().push_back(cell_text(cell));
  }
  std::vector<std::size_t> widths(headers.size());
  for (const auto& row : cells)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  for (const auto& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

void print_fields(std::ostream& out, const std::vector<std::pair<std::string, std::string>>& fields) {
  std::size_t widest = 0;
  for (const auto& [name, value] : fields)
    if (!value.empty()) widest = std::max(widest, name.size());
  for (const auto& [name, value] : fields)
    if (!value.empty()) out << name << std::string(widest - name.size() + 2, ' ') << printable(value) << '\n';
}

}  // namespace skald::cli
