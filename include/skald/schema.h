// JSON Schema of a described struct, from the same description that json.h
// encodes and decodes by: what the schema promises is what the decoder takes.
//
//   json_schema<Gift>()
//   {"type":"object","properties":{"donor":{"type":"string"},…},"required":["donor","amount"],
//    "additionalProperties":false}
//
// Schemas are written in place, without references; a struct that contains
// itself has none and does not compile. What a member may be beyond its type is said once, where
// the struct is, and checked by whoever takes it:
//
//   template <> struct skald::Limits<Gift> {
//     static constexpr skald::MemberLimit of[] = {{"amount", 1, 1'000'000}};
//   };
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "skald/json.h"
#include "skald/time.h"

namespace skald {

// From `low` to `high`: of a number its value, of a text its characters, of a list its items.
struct MemberLimit {
  std::string_view member;
  std::int64_t low, high;
};
template <class T> struct Limits {};

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

// The decoder takes no number beyond 63 bits.
template <class T> requires(std::integral<T> && !std::same_as<T, bool>)
struct Schema<T> {
  static void write(std::string& out) {
    out += sizeof(T) == 8 ? R"({"type":"integer","format":"int64"})" : R"({"type":"integer","format":"int32"})";
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

template <class V> inline constexpr bool is_list = false;
template <class V> inline constexpr bool is_list<std::vector<V>> = true;

// The words for a limit of V's: minimum, minLength, minItems.
template <class V>
void write_limit(std::string& out, const MemberLimit& limit) {
  const bool list = is_list<V>, text = std::is_same_v<V, std::string>;
  out.pop_back();  // the schema's closing brace
  out += list ? R"(,"minItems":)" : text ? R"(,"minLength":)" : R"(,"minimum":)";
  json::write_integer(out, limit.low);
  out += list ? R"(,"maxItems":)" : text ? R"(,"maxLength":)" : R"(,"maximum":)";
  json::write_integer(out, limit.high);
  out += '}';
}

template <class V> struct Bare {
  using type = V;
};
template <class V> struct Bare<std::optional<V>> {
  using type = V;
};

template <class T, class V>
void write_member(std::string& out, std::string_view member) {
  Schema<V>::write(out);
  if constexpr (requires { Limits<T>::of; })
    for (const MemberLimit& limit : Limits<T>::of)
      if (limit.member == member) write_limit<typename Bare<V>::type>(out, limit);
}

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
      write_member<T, V>(out, member.name);
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

// "donation::NewDonation", and whatever the compiler says of unnamed namespaces.
template <class T>
std::string_view type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("T = ") + 4;
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

}  // namespace detail

template <class T>
std::string json_schema() {
  std::string out;
  detail::Schema<T>::write(out);
  return out;
}

}  // namespace skald
