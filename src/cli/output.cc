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

// Its first so many characters; whole where it has no more.
std::string_view beginning(std::string_view text, std::size_t characters) {
  std::size_t bytes = 0;
  while (bytes < text.size() && width(text.substr(0, bytes + 1)) <= characters) ++bytes;
  return text.substr(0, bytes);
}

using Lines = std::vector<std::string>;

Lines wrapped(std::string_view text) {
  Lines out;
  while (width(text) > kCellWidthMax) {
    std::string_view line = beginning(text, kCellWidthMax);
    const std::size_t space = text[line.size()] == ' ' ? line.size() : line.rfind(' ');
    if (space != line.npos && space > 0) line = line.substr(0, space);
    out.emplace_back(line);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  out.emplace_back(text);
  return out;
}

Lines cell_lines(std::string_view text, Long what) {
  if (what == Long::wrap) return wrapped(printable(text));
  return {std::string(beginning(printable(cut_text(text, kCellBytesMax)), kCellWidthMax))};
}

void print_row(std::ostream& out, const std::vector<Lines>& cells, const std::vector<std::size_t>& widths) {
  std::size_t height = 1;
  for (const Lines& cell : cells) height = std::max(height, cell.size());
  for (std::size_t n = 0; n < height; ++n) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string part = n < cells[i].size() ? cells[i][n] : "";
      line += part;
      if (i + 1 < cells.size()) line += std::string(widths[i] - width(part) + 2, ' ');
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  return escape_controls(cut_text(text, text.size()), kept);
}

void print_json(std::ostream& out, std::string_view json) { out << printable(json, kLineBreaks) << '\n'; }

void print_table(std::ostream& out, const std::vector<std::string>& headers,
                 const std::vector<std::vector<std::string>>& rows, Long what) {
  std::vector<std::vector<Lines>> table(1);
  for (const std::string& header : headers) table[0].push_back({header});
  for (const auto& row : rows) {
    table.emplace_back();
    for (const std::string& cell : row) table.back().push_back(cell_lines(cell, what));
  }
  std::vector<std::size_t> widths(headers.size());
  for (const auto& row : table)
    for (std::size_t i = 0; i < row.size(); ++i)
      for (const std::string& line : row[i]) widths[i] = std::max(widths[i], width(line));
  for (const auto& row : table) print_row(out, row, widths);
}

void print_fields(std::ostream& out, const std::vector<std::pair<std::string, std::string>>& fields) {
  std::size_t widest = 0;
  for (const auto& [name, value] : fields)
    if (!value.empty()) widest = std::max(widest, name.size());
  for (const auto& [name, value] : fields)
    if (!value.empty()) out << name << std::string(widest - name.size() + 2, ' ') << printable(value) << '\n';
}

}  // namespace skald::cli
