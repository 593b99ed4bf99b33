// Transaction's typed rows: SQL made from a struct's description. Included by
// database.h; nothing here is for direct use.
#pragma once

#include "skald/database.h"

namespace skald {
namespace detail {

template <Described T>
inline constexpr std::size_t member_count = boost::mp11::mp_size<MembersOf<T>>::value;

template <Described T>
std::string column_list() {
  std::string out;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    if (!out.empty()) out += ", ";
    out += member.name;
  });
  return out;
}

template <Described T>
std::vector<Param> column_params(const T& row) {
  std::vector<Param> out;
  out.reserve(member_count<T> + 1);
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) { out.emplace_back(row.*member.pointer); });
  return out;
}

template <Described T>
T row_as(const Rows& rows, std::size_t index) {
  T result{};
  std::size_t column = 0;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    using V = std::remove_reference_t<decltype(result.*member.pointer)>;
    result.*member.pointer = rows.get<V>(index, column++);
  });
  return result;
}

template <Described T>
const std::string& insert_sql() {
  static const std::string sql = [] {
    std::string out = "INSERT INTO " + std::string(Table<T>::name) + " (" + column_list<T>() + ") VALUES (";
    for (std::size_t i = 1; i <= member_count<T>; ++i) out += (i > 1 ? ", $" : "$") + std::to_string(i);
    return out + ")";
  }();
  return sql;
}

template <Described T>
const std::string& select_sql() {
  static const std::string sql = "SELECT " + column_list<T>() + " FROM " + std::string(Table<T>::name) + " ";
  return sql;
}

template <Described T>
const std::string& find_sql() {
  static const std::string sql = select_sql<T>() + "WHERE " + std::string(Table<T>::key) + " = $1";
  return sql;
}

// Key and version stay what they were in the WHERE; the version counts up.
template <Described T>
const std::string& save_sql() {
  static const std::string sql = [] {
    std::string sets;
    std::size_t index = 0, key = 0, version = 0;
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      ++index;
      if (Table<T>::key == std::string_view(member.name)) {
        key = index;
        return;
      }
      if (!sets.empty()) sets += ", ";
      if (std::string_view(member.name) == "version") {
        version = index;
        sets += "version = version + 1";
      } else {
        sets += std::string(member.name) + " = $" + std::to_string(index);
      }
    });
    return "UPDATE " + std::string(Table<T>::name) + " SET " + sets + " WHERE " + std::string(Table<T>::key) + " = $" +
           std::to_string(key) + " AND version = $" + std::to_string(version);
  }();
  return sql;
}

template <class T>
constexpr std::string_view resource_of() {
  if constexpr (requires { Table<T>::resource; }) return Table<T>::resource;
  else return Table<T>::name;
}

inline std::string key_text(std::string_view key) { return std::string(key); }
inline std::string key_text(std::integral auto key) { return std::to_string(key); }

template <Described T>
std::string key_of(const T& row) {
  std::string out;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    if constexpr (requires { key_text(row.*member.pointer); })
      if (Table<T>::key == std::string_view(member.name)) out = key_text(row.*member.pointer);
  });
  return out;
}

template <class T>
concept Versioned = requires(T row) { row.version; };

template <Described T>
void note_read(Transaction& tx, const T& row) {
  if constexpr (Versioned<T>)
    if (tx.watched()) tx.note({RowAccess::Kind::read, resource_of<T>(), key_of(row), row.version, std::nullopt});
}

template <Described T>
std::optional<T> only_row(Transaction& tx, const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  T row = row_as<T>(rows, 0);
  note_read(tx, row);
  return row;
}

template <Described T>
void note_insert(Transaction& tx, const T& row) {
  if constexpr (Versioned<T>)
    if (tx.watched()) tx.note({RowAccess::Kind::write, resource_of<T>(), key_of(row), std::nullopt, row.version});
}

template <Described T>
void note_save(Transaction& tx, T& row) {
  if (tx.watched()) tx.note({RowAccess::Kind::write, resource_of<T>(), key_of(row), row.version, row.version + 1});
  ++row.version;
}

}  // namespace detail

template <Described T>
void Transaction::insert(const T& row) {
  run(detail::insert_sql<T>(), detail::column_params(row));
  detail::note_insert(*this, row);
}

template <Described T>
void Transaction::enqueue_insert(const T& row) {
  defer(detail::insert_sql<T>(), detail::column_params(row));
  detail::note_insert(*this, row);
}

template <Described T>
std::vector<T> Transaction::select(std::string_view tail, const auto&... args) {
  const Rows rows = query(detail::select_sql<T>() + std::string(tail), args...);
  std::vector<T> out;
  out.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.push_back(detail::row_as<T>(rows, i));
    detail::note_read(*this, out.back());
  }
  return out;
}

template <Described T>
std::optional<T> Transaction::find(const auto& key) {
  return detail::only_row<T>(*this, query(detail::find_sql<T>(), key));
}

template <Described T>
std::pair<Rows, std::optional<T>> Transaction::find_behind(const Statement& first, const auto& key) {
  auto rows = query_together({first, {detail::find_sql<T>(), {Param(key)}}});
  auto found = detail::only_row<T>(*this, rows[1]);
  return {std::move(rows[0]), std::move(found)};
}

template <Described T>
std::optional<T> Transaction::find_locked(const auto& key) {
  if (on(Dialect::sqlite)) return find<T>(key);  // the writer holds the whole file
  static const std::string sql = detail::find_sql<T>() + " FOR UPDATE";
  return detail::only_row<T>(*this, query(sql, key));
}

template <Described T>
void Transaction::save(T& row) {
  const auto params = detail::column_params(row);
  if (run(detail::save_sql<T>(), params).affected() != 1)
    throw Stale("STALE_ROW",
                "a row of " + std::string(Table<T>::name) + " has changed since it was read; read it again");
  detail::note_save(*this, row);
}

template <Described T>
void Transaction::enqueue_save(T& row) {
  if (on(Dialect::sqlite)) return save(row);  // nothing is gained
  defer(detail::save_sql<T>(), detail::column_params(row));
  detail::note_save(*this, row);
}

}  // namespace skald
