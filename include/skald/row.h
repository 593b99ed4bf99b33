// Parameters and rows of a statement.
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "skald/error.h"
#include "skald/json.h"
#include "skald/time.h"

namespace skald {

// A parameter is a view: what it points to must live until the call returns.
class Param {
 public:
  enum class Kind : std::uint8_t { null, integer, real, text, integers, texts };

  Param(std::nullptr_t) : kind_(Kind::null) {}
  Param(std::nullopt_t) : kind_(Kind::null) {}
  template <class T> requires std::integral<T>
  Param(T value) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(value)) {}
  Param(double value) : kind_(Kind::real), real_(value) {}
  Param(std::string_view value) : kind_(Kind::text), text_(value) {}
  Param(const std::string& value) : Param(std::string_view(value)) {}
  Param(const char* value) : Param(std::string_view(value)) {}
  Param(Time value) : Param(to_micros(value)) {}
  Param(const RawJson& value) : Param(std::string_view(value.text)) {}
  template <DescribedEnum E> Param(E value) : Param(enum_name(value)) {}
  template <class T> Param(const std::optional<T>& value) : Param(value ? Param(*value) : Param(nullptr)) {}
  // Arrays: PostgreSQL only, for unnest($1::bigint[]) and = ANY($1).
  Param(std::span<const std::int64_t> values) : kind_(Kind::integers), integers_(values) {}
  Param(std::span<const std::string> values) : kind_(Kind::texts), texts_(values) {}
  Param(const std::vector<std::int64_t>& values) : Param(std::span<const std::int64_t>(values)) {}
  Param(const std::vector<std::string>& values) : Param(std::span<const std::string>(values)) {}

  Kind kind() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  double real() const { return real_; }
  std::string_view text() const { return text_; }
  std::span<const std::int64_t> integers() const { return integers_; }
  std::span<const std::string> texts() const { return texts_; }

 private:
  Kind kind_;
  union {
    std::int64_t integer_;
    double real_;
  };
  std::string_view text_;
  std::span<const std::int64_t> integers_;
  std::span<const std::string> texts_;
};

// One value of a result: null, a number that is already one, or text.
struct Cell {
  enum class Kind : std::uint8_t { null, integer, real, text };
  Kind kind = Kind::null;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;
};

// What a statement gave back. Owns its memory; cheap to move. Cells of
// PostgreSQL are text that as<T>() parses; those of SQLite come typed.
class Rows {
 public:
  Rows() = default;
  Rows(std::vector<Cell> cells, std::size_t columns, std::int64_t affected, std::shared_ptr<const void> memory)
      : cells_(std::move(cells)), columns_(columns), affected_(affected), memory_(std::move(memory)) {}

  std::size_t size() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  bool empty() const { return size() == 0; }
  std::size_t columns() const { return columns_; }
  std::int64_t affected() const { return affected_; }  // rows written, or returned
  const Cell& cell(std::size_t row, std::size_t column) const { return cells_[row * columns_ + column]; }

  template <class T> T get(std::size_t row, std::size_t column) const;

 private:
  std::vector<Cell> cells_;
  std::size_t columns_ = 0;
  std::int64_t affected_ = 0;
  std::shared_ptr<const void> memory_;
};

namespace detail {
std::int64_t cell_integer(const Cell& cell);
double cell_real(const Cell& cell);
std::string_view cell_text(const Cell& cell);  // throws Corrupt where it is no text

template <class T>
T cell_as(const Cell& cell) {
  if constexpr (json::is_optional<T>) {
    if (cell.kind == Cell::Kind::null) return std::nullopt;
    return cell_as<typename T::value_type>(cell);
  } else if constexpr (std::is_same_v<T, bool>) {
    return cell.kind == Cell::Kind::text ? (cell.text == "t" || cell.text == "1") : cell_integer(cell) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(cell_integer(cell));
  } else if constexpr (std::is_same_v<T, double>) {
    return cell_real(cell);
  } else if constexpr (std::is_same_v<T, Time>) {
    return from_micros(cell_integer(cell));
  } else if constexpr (std::is_same_v<T, RawJson>) {
    return RawJson{std::string(cell_text(cell))};
  } else if constexpr (DescribedEnum<T>) {
    const auto result = enum_of<T>(cell_text(cell));
    if (!result)
      throw Corrupt("CORRUPT_ROW", "a stored name is not known to this program: " + std::string(cell_text(cell)));
    return *result;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return cell_text(cell);
  } else {
    return T(cell_text(cell));
  }
}
}  // namespace detail

template <class T>
T Rows::get(std::size_t row, std::size_t column) const {
  return detail::cell_as<T>(cell(row, column));
}

// Names the table of a described struct:
//   template <> struct skald::Table<Donation> {
//     static constexpr std::string_view name = "donation", key = "request_id";
//   };
// Where sagas declare its rows by another name (reads, writes, holds), `resource` says it.
template <class T> struct Table;

}  // namespace skald
