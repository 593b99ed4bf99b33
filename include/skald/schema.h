// JSON Schema of a described struct, from the same description that json.h
// encodes and decodes by: what the schema promises is what the decoder takes.
//
//   json_schema<Gift>()
//   {"type":"object","properties":{"donor":{"type":"string"},…},"required":["donor","amount"],
//    "additionalProperties":false}
//
// Schemas are written in place, without references; a struct that contains
// itself has none and does not compile.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "skald/json.h"
#include "skald/time.h"

namespace skald {
namespace detail {

template <class T> struct Schema;

template <> struct Schema<bool> {
  static void write(std::string& out) { out += R"({"type":"boolean"})"; }
};
template <> struct Schema<double> {
  static void write(std::string& out) { out += R"({"type":"number"})"; }
};
template <> struct Schema<std::string> {
  static void write(std::string& out) { out += R"({"type":"string"})"; }
};
template <> struct Schema<Time> {
  static void write(std::string& out) { out += R"({"type":"string","format":"date-time"})"; }
};
template <> struct Schema<RawJson> {
  static void write(std::string& out) { out += "{}"; }
};

// The bounds are those of the decoder, which takes no number beyond 63 bits.
template <class T> requires(std::integral<T> && !std::same_as<T, bool>)
struct Schema<T> {
  static void write(std::string& out) {
    out += R"({"type":"integer","minimum":)";
    json::write_integer(out, static_cast<std::int64_t>(std::numeric_limits<T>::min()));
    out += R"(,"maximum":)";
    json::write_integer(out, sizeof(T) == 8 ? std::numeric_limits<std::int64_t>::max()
                                            : static_cast<std::int64_t>(std::numeric_limits<T>::max()));
    out += '}';
  }
};

template <DescribedEnum E> struct Schema<E> {
  static void write(std::string& out) {
    out += R"({"type":"string","enum":[)";
    bool first = true;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto name) {
      if (!first) out += ',';
      first = false;
      json::write_string(out, name.name);
    });
    out += "]}";
  }
};

template <class T> struct Schema<std::optional<T>> {
  static void write(std::string& out) { Schema<T>::write(out); }
};

template <class T> struct Schema<std::vector<T>> {
  static void write(std::string& out) {
    out += R"({"type":"array","items":)";
    Schema<T>::write(out);
    out += '}';
  }
};

template <class T> struct Schema<std::map<std::string, T>> {
  static void write(std::string& out) {
    out += R"({"type":"object","additionalProperties":)";
    Schema<T>::write(out);
    out += '}';
  }
};

template <Described T> struct Schema<T> {
  static void write(std::string& out) {
    std::string required;
    bool first = true;
    out += R"({"type":"object","properties":{)";
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      using V = std::remove_cvref_t<decltype(std::declval<T&>().*member.pointer)>;
      const std::string name = to_camel(member.name);
      if (!first) out += ',';
      first = false;
      json::write_string(out, name);
      out += ':';
      Schema<V>::write(out);
      if constexpr (!json::is_optional<V>) {
        if (!required.empty()) required += ',';
        json::write_string(required, name);
      }
    });
    out += '}';
    if (!required.empty()) out += R"(,"required":[)" + required + ']';
    out += R"(,"additionalProperties":false})";
  }
};

}  // namespace detail

template <class T>
std::string json_schema() {
  std::string out;
  detail::Schema<T>::write(out);
  return out;
}

}  // namespace skald
