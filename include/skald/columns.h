// The column behind a member of a described struct. For the headers that make SQL
// from members; nothing here is for direct use.
#pragma once

#include <string_view>
#include <type_traits>

#include "skald/error.h"
#include "skald/json.h"

namespace skald::detail {

template <class> struct MemberOf;
template <class M, class T> struct MemberOf<M T::*> {
  using Row = T;
};

template <auto member>
using RowOf = typename MemberOf<std::remove_cv_t<decltype(member)>>::Row;

// Throws Invalid where the struct's description leaves the member out.
template <Described T, class M>
std::string_view column_of(M T::* member) {
  std::string_view name;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto described) {
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(described.pointer)>, M T::*>) {
      if (described.pointer == member) name = described.name;
    }
  });
  if (name.empty())
    throw Invalid("NOT_DESCRIBED", "a member is not in its struct's BOOST_DESCRIBE_STRUCT: add it there");
  return name;
}

template <Described T>
bool has_column(std::string_view wanted) {
  bool found = false;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto described) { found = found || wanted == described.name; });
  return found;
}

}  // namespace skald::detail
