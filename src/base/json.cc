#include "skald/json.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

namespace skald {

std::string to_camel(std::string_view snake) {
  std::string out;
  out.reserve(snake.size());
  bool upper = false;
  for (char c : snake) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

namespace json {

void write_string(std::string& out, std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += hex[(c >> 4) & 15];
          out += hex[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void write_integer(std::string& out, std::int64_t value) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void write_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }  // JSON has no such number
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

boost::json::value parse(std::string_view text) {
  boost::system::error_code error;
  auto value = boost::json::parse(text, error);
  if (error) throw Malformed("MALFORMED_JSON", "the text is not JSON: " + error.message());
  return value;
}

void fail(std::string_view pointer, std::string_view wanted) {
  throw Invalid("INVALID_VALUE",
                "at " + std::string(pointer.empty() ? "/" : pointer) + ": expected " + std::string(wanted));
}

std::string child(std::string_view pointer, std::string_view name) {
  std::string out(pointer);
  out += '/';
  for (char c : name.substr(0, 64)) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

std::int64_t read_integer(const boost::json::value& value, const std::string& at, std::int64_t low, std::int64_t high) {
  boost::system::error_code error;
  const auto number = value.is_number() ? value.to_number<std::int64_t>(error) : 0;
  if (!value.is_number() || value.is_double() || error) fail(at, "a whole number");
  if (number < low || number > high) fail(at, "a number from " + std::to_string(low) + " to " + std::to_string(high));
  return number;
}

double Codec<double>::read(const boost::json::value& value, const std::string& at) {
  if (!value.is_number()) fail(at, "a number");
  const double number = value.to_number<double>();
  if (!std::isfinite(number)) fail(at, "a finite number");
  return number;
}

std::string Codec<std::string>::read(const boost::json::value& value, const std::string& at) {
  if (!value.is_string()) fail(at, "a string");
  std::string text(value.get_string());
  // PostgreSQL cannot store it, and no text that a person wrote contains it.
  if (text.find('\0') != std::string::npos) fail(at, "a string without the NUL character");
  return text;
}

Time Codec<Time>::read(const boost::json::value& value, const std::string& at) {
  if (!value.is_string()) fail(at, "a time like 2026-01-31T12:00:00Z");
  try {
    return parse_time(value.get_string());
  } catch (const Invalid&) {
    fail(at, "a time like 2026-01-31T12:00:00Z");
  }
}

RawJson Codec<RawJson>::read(const boost::json::value& value, const std::string&) {
  return {boost::json::serialize(value)};
}

}  // namespace json
}  // namespace skald
