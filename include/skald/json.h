// JSON to and from described structs (BOOST_DESCRIBE_STRUCT), both ways by the
// description alone. Members are snake_case in C++ and camelCase in JSON.
//
//   struct Gift { std::string donor; std::int64_t amount; std::optional<std::string> message; };
//   BOOST_DESCRIBE_STRUCT(Gift, (), (donor, amount, message))
//   Gift gift = from_json<Gift>(R"({"donor":"kim","amount":500})");
//
// Decoding: optionals may be absent or null, everything else must be there; an
// unknown member is refused. Errors name the place as a JSON pointer: Malformed
// when the text is not JSON, Invalid when a value does not fit. Numbers must fit
// their type exactly. No object may have one member twice. Depth is limited to 32.
#pragma once

#include <boost/describe.hpp>
#include <boost/json/value.hpp>
#include <boost/mp11.hpp>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "skald/error.h"
#include "skald/time.h"

namespace skald {

// JSON text that passes through untouched, byte for byte.
struct RawJson {
  std::string text;
  bool operator==(const RawJson&) const = default;
};

template <class T>
concept Described = boost::describe::has_describe_members<T>::value && !std::is_union_v<T>;
template <class T>
concept DescribedEnum = boost::describe::has_describe_enumerators<T>::value;

// Those of its described bases come first.
template <class T>
using MembersOf =
    boost::describe::describe_members<T, boost::describe::mod_any_access | boost::describe::mod_inherited>;

std::string to_camel(std::string_view snake);

template <DescribedEnum E>
std::string_view enum_name(E value) {
  return boost::describe::enum_to_string(value, "?");
}

// The value of that name, to its last character: what a NUL ends for C is no name here.
template <DescribedEnum E>
std::optional<E> enum_of(std::string_view name) {
  std::optional<E> out;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto one) {
    if (name == one.name) out = one.value;
  });
  return out;
}

namespace json {

void write_string(std::string& out, std::string_view text);
void write_integer(std::string& out, std::int64_t value);
void write_real(std::string& out, double value);

// Malformed (MALFORMED_JSON, DUPLICATE_MEMBER); Invalid (TOO_MANY_VALUES): each value costs memory
// that is many times its text.
boost::json::value parse(std::string_view text, std::size_t values_max = std::size_t(-1));
[[noreturn]] void fail(std::string_view pointer, std::string_view wanted);
std::string child(std::string_view pointer, std::string_view name);

template <class T> struct Codec;

template <class T>
void write(std::string& out, const T& value) {
  Codec<T>::write(out, value);
}
template <class T>
T read(const boost::json::value& value, const std::string& at) {
  return Codec<T>::read(value, at);
}

template <> struct Codec<bool> {
  static void write(std::string& out, bool value) { out += value ? "true" : "false"; }
  static bool read(const boost::json::value& value, const std::string& at) {
    if (!value.is_bool()) fail(at, "true or false");
    return value.get_bool();
  }
};

std::int64_t read_integer(const boost::json::value&, const std::string& at, std::int64_t low, std::int64_t high);

template <class T> requires(std::integral<T> && !std::same_as<T, bool>)
struct Codec<T> {
  static void write(std::string& out, T value) { write_integer(out, static_cast<std::int64_t>(value)); }
  static T read(const boost::json::value& value, const std::string& at) {
    constexpr auto high = sizeof(T) == 8 ? std::numeric_limits<std::int64_t>::max()
                                         : static_cast<std::int64_t>(std::numeric_limits<T>::max());
    return static_cast<T>(read_integer(value, at, static_cast<std::int64_t>(std::numeric_limits<T>::min()), high));
  }
};

template <> struct Codec<double> {
  static void write(std::string& out, double value) { write_real(out, value); }
  static double read(const boost::json::value& value, const std::string& at);
};

template <> struct Codec<std::string> {
  static void write(std::string& out, const std::string& value) { write_string(out, value); }
  static std::string read(const boost::json::value& value, const std::string& at);
};

template <> struct Codec<std::string_view> {
  static void write(std::string& out, std::string_view value) { write_string(out, value); }
};

template <> struct Codec<Time> {
  static void write(std::string& out, Time value) { write_string(out, format_time(value)); }
  static Time read(const boost::json::value& value, const std::string& at);
};

template <> struct Codec<RawJson> {
  static void write(std::string& out, const RawJson& value) { out += value.text; }
  static RawJson read(const boost::json::value& value, const std::string& at);
};

template <DescribedEnum E> struct Codec<E> {
  static void write(std::string& out, E value) { write_string(out, enum_name(value)); }
  static E read(const boost::json::value& value, const std::string& at) {
    const auto result = value.is_string() ? enum_of<E>(value.get_string()) : std::nullopt;
    if (!result) fail(at, "one of the known names");
    return *result;
  }
};

template <class T> struct Codec<std::optional<T>> {
  static void write(std::string& out, const std::optional<T>& value) {
    if (value) json::write(out, *value);
    else out += "null";
  }
  static std::optional<T> read(const boost::json::value& value, const std::string& at) {
    if (value.is_null()) return std::nullopt;
    return json::read<T>(value, at);
  }
};

template <class T> struct Codec<std::vector<T>> {
  static void write(std::string& out, const std::vector<T>& values) {
    out += '[';
    bool first = true;
    for (const auto& value : values) {
      if (!first) out += ',';
      first = false;
      json::write(out, value);
    }
    out += ']';
  }
  static std::vector<T> read(const boost::json::value& value, const std::string& at) {
    if (!value.is_array()) fail(at, "an array");
    std::vector<T> result;
    for (const auto& element : value.get_array())
      result.push_back(json::read<T>(element, child(at, std::to_string(result.size()))));
    return result;
  }
};

template <class T> struct Codec<std::map<std::string, T>> {
  static void write(std::string& out, const std::map<std::string, T>& values) {
    out += '{';
    bool first = true;
    for (const auto& [name, value] : values) {
      if (!first) out += ',';
      first = false;
      write_string(out, name);
      out += ':';
      json::write(out, value);
    }
    out += '}';
  }
  static std::map<std::string, T> read(const boost::json::value& value, const std::string& at) {
    if (!value.is_object()) fail(at, "an object");
    std::map<std::string, T> result;
    for (const auto& member : value.get_object())
      result.emplace(member.key(), json::read<T>(member.value(), child(at, member.key())));
    return result;
  }
};

template <class> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;

// Absent optionals are left out, so that what is not known is not shown as null.
template <Described T> struct Codec<T> {
  static void write(std::string& out, const T& object) {
    out += '{';
    bool first = true;
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      const auto& value = object.*member.pointer;
      using V = std::remove_cvref_t<decltype(value)>;
      if constexpr (is_optional<V>) {
        if (!value) return;
      }
      if (!first) out += ',';
      first = false;
      write_string(out, to_camel(member.name));
      out += ':';
      json::write(out, value);
    });
    out += '}';
  }
  static T read(const boost::json::value& value, const std::string& at) {
    if (!value.is_object()) fail(at, "an object");
    const auto& object = value.get_object();
    T result{};
    std::size_t known = 0;
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      using V = std::remove_reference_t<decltype(result.*member.pointer)>;
      const std::string name = to_camel(member.name);
      const auto* found = object.if_contains(name);
      if (found != nullptr) {
        ++known;
        result.*member.pointer = json::read<V>(*found, child(at, name));
      } else if constexpr (!is_optional<V>) {
        fail(child(at, name), "a value: this member is required");
      }
    });
    if (known != object.size()) refuse_unknown(object, at);
    return result;
  }

 private:
  static void refuse_unknown(const boost::json::object& object, const std::string& at) {
    for (const auto& member : object) {
      bool known = false;
      boost::mp11::mp_for_each<MembersOf<T>>(
          [&](auto d) { known = known || to_camel(d.name) == std::string_view(member.key()); });
      if (!known) fail(child(at, member.key()), "no such member: remove it");
    }
  }
};

}  // namespace json

template <class T>
std::string to_json(const T& value) {
  std::string out;
  json::write(out, value);
  return out;
}

template <class T>
T from_json(std::string_view text) {
  return json::read<T>(json::parse(text), "");
}

}  // namespace skald
