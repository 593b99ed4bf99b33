#include "store/postgres/parameters.h"

#include <charconv>

namespace skald::postgres {
namespace {

template <class Number>
void write_number(std::string& out, Number value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void refuse_zero_byte(std::string_view text) {
  if (text.find('\0') != std::string_view::npos)
    throw Invalid("BAD_TEXT", "text must be UTF-8 without a zero byte: take the zero byte out");
}

}  // namespace

void write_array(std::string& out, std::span<const std::int64_t> values) {
  out += '{';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    write_number(out, values[i]);
  }
  out += '}';
}

// Every element is quoted, or the text NULL would be a null.
void write_array(std::string& out, std::span<const std::string> values) {
  out += '{';
  for (std::size_t i = 0; i < values.size(); ++i) {
    refuse_zero_byte(values[i]);
    out += i > 0 ? ",\"" : "\"";
    for (const char c : values[i]) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  out += '}';
}

std::size_t Parameters::append(std::span<const Param> params) {
  const std::size_t first = offsets_.size();
  try {
    for (const Param& param : params) append(param);
  } catch (...) {
    truncate(first);
    throw;
  }
  return first;
}

void Parameters::append(const Param& param) {
  if (param.kind() == Param::Kind::null) {
    offsets_.push_back(kNull);
    return;
  }
  offsets_.push_back(bytes_.size());
  switch (param.kind()) {
    case Param::Kind::null: break;
    case Param::Kind::integer: write_number(bytes_, param.integer()); break;
    case Param::Kind::real: write_number(bytes_, param.real()); break;
    case Param::Kind::text:
      refuse_zero_byte(param.text());
      bytes_ += param.text();
      break;
    case Param::Kind::integers: write_array(bytes_, param.integers()); break;
    case Param::Kind::texts: write_array(bytes_, param.texts()); break;
  }
  bytes_ += '\0';
}

void Parameters::truncate(std::size_t count) {
  for (std::size_t i = count; i < offsets_.size(); ++i) {
    if (offsets_[i] == kNull) continue;
    bytes_.resize(offsets_[i]);
    break;
  }
  offsets_.resize(count);
}

const char* const* Parameters::pointers(std::size_t first, std::size_t count) {
  pointers_.clear();
  for (std::size_t i = first; i < first + count; ++i)
    pointers_.push_back(offsets_[i] == kNull ? nullptr : bytes_.data() + offsets_[i]);
  return pointers_.data();
}

}  // namespace skald::postgres
