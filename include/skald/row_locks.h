// Row locks in one global order, so that two transactions never wait for each
// other: first by resource, as declared, and within a resource by key.
//
//   const skald::LockRanks kRanks{"account", "product"};      // once per program
//   RowLocks locks(step.tx(), kRanks, "reserve stock");
//   auto account = locks.take<Account>(order.account);
//   auto products = locks.take_all<Product>(order.skus);      // sorted by itself
//
// The order is checked in every build and on every database, SQLite too, where the
// writer holds the whole file and a wrong order would never show.
//
// | what happens                          | what is thrown                               |
// | a lower key or resource after a higher | LockOrder LOCK_ORDER: both names and the step |
// | a resource that was not declared       | LockOrder LOCK_NOT_DECLARED                   |
// | the row stays locked by another        | LockTimeout, as of Transaction::find_locked   |
// | the row does not exist                 | nothing: nullopt, and nothing is locked       |
//
// All RowLocks of one transaction know of each other: steps that share it are checked
// together. A row that is held is taken again. Not thread safe, like its transaction.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/database.h"

namespace skald {

// The tables whose rows are locked, in the order in which they are.
class LockRanks {
 public:
  LockRanks(std::initializer_list<std::string_view> resources) : resources_(resources.begin(), resources.end()) {}
  std::optional<std::size_t> of(std::string_view resource) const;
  const std::string& name(std::size_t rank) const { return resources_[rank]; }
  std::string text() const;  // "account, product"

 private:
  std::vector<std::string> resources_;
};

class RowLocks {
 public:
  // `step` is who errors are about.
  RowLocks(Transaction& tx, LockRanks ranks, std::string step = "this transaction")
      : tx_(tx), ranks_(std::move(ranks)), step_(std::move(step)) {}
  RowLocks(const RowLocks&) = delete;
  RowLocks& operator=(const RowLocks&) = delete;

  template <Described T>
  std::optional<T> take(const auto& key) {
    check(Table<T>::name, lock_key(key));
    return tx_.find_locked<T>(key);
  }

  // Takes them sorted, each once; the rows stand in the order of `keys`.
  template <Described T, class Key>
  std::vector<std::optional<T>> take_all(const std::vector<Key>& keys) {
    std::map<Key, std::optional<T>> rows;
    for (const Key& key : keys) rows[key];
    for (auto& [key, row] : rows) row = take<T>(key);
    std::vector<std::optional<T>> out;
    for (const Key& key : keys) out.push_back(rows[key]);
    return out;
  }

 private:
  using Key = std::variant<std::int64_t, std::string>;
  struct Place {
    std::size_t rank;
    Key key;
    auto operator<=>(const Place&) const = default;
  };

  static Key lock_key(std::integral auto key) { return static_cast<std::int64_t>(key); }
  static Key lock_key(std::string_view key) { return std::string(key); }
  void check(std::string_view resource, Key key);
  using Taken = std::map<Place, std::string>;  // by which step

  Transaction& tx_;
  LockRanks ranks_;
  std::string step_;
};

}  // namespace skald
