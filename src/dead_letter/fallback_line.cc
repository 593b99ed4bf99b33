#include "dead_letter/fallback_line.h"

#include <fmt/format.h>

#include <charconv>

#include "dead_letter/crc32c.h"
#include "dead_letter/fallback_file.h"
#include "skald/error.h"

namespace skald {
namespace {

constexpr std::string_view kMark = "SKALD1 ";

// A number and the space behind it, from the front of `text`.
template <class Number>
bool take_number(std::string_view& text, Number& number, int base) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const auto used = static_cast<std::size_t>(read.ptr - text.data());
  if (read.ec != std::errc() || used == text.size() || text[used] != ' ') return false;
  text.remove_prefix(used + 1);
  return true;
}

std::string header_of(std::size_t length, std::uint32_t checksum) {
  return fmt::format("{}{} {:08x} ", kMark, length, checksum);
}

}  // namespace

std::string format_fallback_line(std::string_view record) {
  if (record.find('\n') != std::string_view::npos)
    throw Invalid("FALLBACK_RECORD", "a record of the fallback file must be on one line");
  std::string line = header_of(record.size(), crc32c(record));
  line += record;
  line += '\n';
  if (line.size() > FallbackFile::kLineMax)
    throw Invalid("FALLBACK_RECORD", "a record of the fallback file must be shorter than 4 MiB");
  return line;
}

FallbackLine parse_fallback_line(std::string_view line) {
  const std::string_view whole = line;
  if (!line.starts_with(kMark)) return {std::nullopt, "not a record"};
  line.remove_prefix(kMark.size());
  std::size_t length = 0;
  std::uint32_t checksum = 0;
  if (!take_number(line, length, 10) || !take_number(line, checksum, 16) ||
      !whole.starts_with(header_of(length, checksum)))
    return {std::nullopt, "broken header"};
  if (line.size() < length) return {std::nullopt, "torn"};
  if (line.size() > length) return {std::nullopt, "longer than its length says"};
  if (crc32c(line) != checksum) return {std::nullopt, "wrong checksum"};
  return {line, {}};
}

}  // namespace skald
