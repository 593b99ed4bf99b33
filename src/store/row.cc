#include "skald/row.h"

namespace skald::detail {
namespace {

[[noreturn]] void mismatch(const char* wanted) {
  throw Corrupt("CORRUPT_ROW", std::string("a stored value is not ") + wanted + "; the table was changed from outside");
}

}  // namespace

std::int64_t cell_integer(const Cell& cell) {
  if (cell.kind == Cell::Kind::integer) return cell.integer;
  if (cell.kind == Cell::Kind::text) {
    std::int64_t value = 0;
    const char* end = cell.text.data() + cell.text.size();
    const auto [parsed, error] = std::from_chars(cell.text.data(), end, value);
    if (error == std::errc() && parsed == end) return value;
  }
  mismatch("a whole number");
}

double cell_real(const Cell& cell) {
  if (cell.kind == Cell::Kind::real) return cell.real;
  if (cell.kind == Cell::Kind::integer) return static_cast<double>(cell.integer);
  if (cell.kind == Cell::Kind::text) {
    double value = 0;
    const char* end = cell.text.data() + cell.text.size();
    const auto [parsed, error] = std::from_chars(cell.text.data(), end, value);
    if (error == std::errc() && parsed == end) return value;
  }
  mismatch("a number");
}

std::string_view cell_text(const Cell& cell) {
  if (cell.kind != Cell::Kind::text) mismatch("text");
  return cell.text;
}

}  // namespace skald::detail
