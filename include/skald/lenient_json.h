// JSON that a program of another version has written, as described structs. For what services tell each other; what
// clients send is read by from_json(), which refuses what it does not know.
//
//   struct Moved { std::string id; std::vector<std::string> notes; std::optional<std::string> reason; };
//   BOOST_DESCRIBE_STRUCT(Moved, (), (id, notes, reason))
//   const auto moved = from_lenient_json<Moved>(R"({"id":"b-1","colour":"red"})");
//
// Members that this program does not know are passed over, at every depth. A list, a map or a flag that is missing is
// as a new object has it; an optional is absent. Everything else must be there and fit, as in from_json(): text, numbers,
// times and names are not made up, and a name that is not known is refused. So a member that comes later is optional, a
// list, a map or a flag (docs/decisions/0033-two-versions-side-by-side.md).
#pragma once

#include "skald/json.h"

namespace skald {
namespace json {

// Makes of a value what Codec<T> reads.
template <class T>
struct Fit {
  static void fit(boost::json::value&) {}
};

template <class T>
void fit(boost::json::value& value) {
  Fit<T>::fit(value);
}

template <class T>
struct Fit<std::optional<T>> {
  static void fit(boost::json::value& value) { json::fit<T>(value); }
};

template <class T>
struct Fit<std::vector<T>> {
  static void fit(boost::json::value& value) {
    if (!value.is_array()) return;
    for (auto& element : value.get_array()) json::fit<T>(element);
  }
};

template <class T>
struct Fit<std::map<std::string, T>> {
  static void fit(boost::json::value& value) {
    if (!value.is_object()) return;
    for (auto& member : value.get_object()) json::fit<T>(member.value());
  }
};

template <class T>
inline constexpr bool may_be_missing = std::same_as<T, bool>;
template <class T>
inline constexpr bool may_be_missing<std::vector<T>> = true;
template <class T>
inline constexpr bool may_be_missing<std::map<std::string, T>> = true;

template <Described T>
struct Fit<T> {
  static void fit(boost::json::value& value) {
    if (!value.is_object()) return;
    boost::json::object known;
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      using V = std::remove_cvref_t<decltype(std::declval<T>().*member.pointer)>;
      const std::string name = to_camel(member.name);
      if (auto* found = value.get_object().if_contains(name)) {
        json::fit<V>(*found);
        known.emplace(name, std::move(*found));
      } else if constexpr (may_be_missing<V>) {
        known.emplace(name, parse(to_json(T{}.*member.pointer)));
      }
    });
    value = std::move(known);
  }
};

template <class T>
T read_lenient(boost::json::value value) {
  fit<T>(value);
  return read<T>(value, "");
}

}  // namespace json

template <class T>
T from_lenient_json(std::string_view text) {
  return json::read_lenient<T>(json::parse(text));
}

}  // namespace skald
