#include "skald/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace skald {
namespace {

using ParseError = boost::system::error_code;
using Piece = boost::json::string_view;

// The names of the members of all objects that are open, one text behind the other: an object's
// are the last ones when it ends.
class OpenNames {
 public:
  void extend(Piece part) { text_.append(part.data(), part.size()); }
  void end() { ends_.push_back(text_.size()); }

  // Forgets the last `count`; false where two of them are the same.
  bool close(std::size_t count) {
    const std::size_t first = ends_.size() - count;
    const std::size_t begin = first == 0 ? 0 : ends_[first - 1];
    names_.clear();
    for (std::size_t i = first, at = begin; i < ends_.size(); at = ends_[i++])
      names_.push_back(std::string_view(text_).substr(at, ends_[i] - at));
    std::ranges::sort(names_);
    const bool distinct = std::ranges::adjacent_find(names_) == names_.end();
    ends_.resize(first);
    text_.resize(begin);
    return distinct;
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> names_;
};

// What Boost calls while it reads. It builds the value as Boost's own parser does, and refuses
// what that one lets through: a name twice in one object, of which readers take either; and more
// values than the caller can use, each of which costs many times its text.
class Building {
 public:
  static constexpr std::size_t max_object_size = std::size_t(-1), max_array_size = std::size_t(-1),
                               max_key_size = std::size_t(-1), max_string_size = std::size_t(-1);

  explicit Building(std::size_t values_max) : values_left_(values_max) {}

  bool on_document_begin(ParseError&) { return true; }
  bool on_document_end(ParseError&) { return true; }
  bool on_object_begin(ParseError&) { return true; }
  bool on_object_end(std::size_t count, ParseError& error) {
    if (!names_.close(count)) return stop("DUPLICATE_MEMBER", error);
    stack.push_object(count);
    return counted(error);
  }
  bool on_array_begin(ParseError&) { return true; }
  bool on_array_end(std::size_t count, ParseError& error) {
    stack.push_array(count);
    return counted(error);
  }
  bool on_key_part(Piece part, std::size_t, ParseError&) {
    names_.extend(part);
    stack.push_chars(part);
    return true;
  }
  bool on_key(Piece part, std::size_t, ParseError&) {
    names_.extend(part);
    names_.end();
    stack.push_key(part);
    return true;
  }
  bool on_string_part(Piece part, std::size_t, ParseError&) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(Piece part, std::size_t, ParseError& error) {
    stack.push_string(part);
    return counted(error);
  }
  bool on_number_part(Piece, ParseError&) { return true; }
  bool on_int64(std::int64_t value, Piece, ParseError& error) {
    stack.push_int64(value);
    return counted(error);
  }
  bool on_uint64(std::uint64_t value, Piece, ParseError& error) {
    stack.push_uint64(value);
    return counted(error);
  }
  bool on_double(double value, Piece, ParseError& error) {
    stack.push_double(value);
    return counted(error);
  }
  bool on_bool(bool value, ParseError& error) {
    stack.push_bool(value);
    return counted(error);
  }
  bool on_null(ParseError& error) {
    stack.push_null();
    return counted(error);
  }
  bool on_comment_part(Piece, ParseError&) { return true; }
  bool on_comment(Piece, ParseError&) { return true; }

  boost::json::value_stack stack;
  const char* refusal = nullptr;  // the code of what Boost would have taken

 private:
  bool counted(ParseError& error) {
    if (values_left_ == 0) return stop("TOO_MANY_VALUES", error);
    --values_left_;
    return true;
  }
  bool stop(const char* code, ParseError& error) {
    refusal = code;
    error = boost::json::error::exception;
    return false;
  }

  OpenNames names_;
  std::size_t values_left_;
};

[[noreturn]] void refuse_text(const Building& building, const ParseError& error, std::size_t values_max) {
  if (building.refusal == nullptr) throw Malformed("MALFORMED_JSON", "the text is not JSON: " + error.message());
  if (std::string_view(building.refusal) == "DUPLICATE_MEMBER")
    throw Malformed("DUPLICATE_MEMBER", "an object of the text has one member twice; send each once");
  throw Invalid(building.refusal,
                "the text has more than " + std::to_string(values_max) + " values; send less at once");
}

}  // namespace

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

boost::json::value parse(std::string_view text, std::size_t values_max) {
  boost::json::basic_parser<Building> parser(boost::json::parse_options(), values_max);
  Building& building = parser.handler();
  building.stack.reset();
  ParseError error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = boost::json::error::extra_data;
  if (error) refuse_text(building, error, values_max);
  return building.stack.release();
}

void fail(std::string_view pointer, std::string_view wanted) {
  throw Invalid("INVALID_VALUE",
                "at " + std::string(pointer.empty() ? "/" : pointer) + ": expected " + std::string(wanted));
}

std::string child(std::string_view pointer, std::string_view name) {
  std::string out(pointer);
  out += '/';
  for (char c : cut_text(name, 64)) {
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
