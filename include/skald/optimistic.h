// Optimistic work: nothing is locked while a saga thinks; the update itself finds out
// whether what was read has changed since.
//
//   const RetryPolicy kProduct{.aggregate = "product", .tries = 3, .first = 100ms};
//   retry_stale(env, db, kProduct, pause, "change price", [&](Transaction& tx) {
//     auto product = *tx.find<Product>(sku);
//     product.price += 5;
//     tx.save(product);                                  // Stale: read and decide again
//   });
//
// Reread, across the commits between a saga's steps: a step keeps the version that it
// saw in the saga's state, and a later one updates only where it is still that one.
//
//   update_if_unchanged<&Product::price>(tx, sku, order.version_seen, price);
//
// | what happens                               | what the caller sees                     |
// | another has changed the row since          | Stale STALE_ROW, naming both versions    |
// | another changes it at this moment          | waits for its end, then the same         |
// | the row is gone                            | NotFound ROW_GONE                        |
// | every try was stale                        | Stale STILL_STALE: the aggregate, the tries, the last reason |
// | anything else is thrown in the body        | that, at once: only Stale is run again   |
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "skald/columns.h"
#include "skald/database.h"

namespace skald {

// How often, and how patiently, work on one kind of aggregate is run again.
struct RetryPolicy {
  std::string aggregate;
  int tries = 3;            // in all
  Duration first = 100ms;   // x attempt, or doubled each time
  double jitter = 0.5;      // a share of chance on top: those who collided once part
  bool doubles = false;
};

// How long to wait after `failures` stale tries (1, 2, …). Pure but for the chance.
Duration stale_pause(const RetryPolicy& policy, int failures, Random& random);

// Waits that long. Nothing here owns a clock: the program's sleeps, a test's notes it.
using Pause = std::function<void(Duration)>;

// Each try is a write of its own; no transaction is open during a pause.
void retry_stale(Env env, Database& db, const RetryPolicy& policy, const Pause& pause, std::string_view name,
                 const Database::Body& body);

namespace detail {

[[noreturn]] void raise_stale(Transaction& tx, std::string_view version_sql, std::string_view table, const Param& key,
                              std::int64_t version_seen);

template <auto first, auto... rest>
const std::string& update_if_unchanged_sql() {
  using T = RowOf<first>;
  static const std::string sql = [] {
    std::string sets = "version = version + 1, " + std::string(column_of(first)) + " = $3";
    int index = 3;
    ((sets += ", " + std::string(column_of(rest)) + " = $" + std::to_string(++index)), ...);
    return "UPDATE " + std::string(Table<T>::name) + " SET " + sets + " WHERE " + std::string(Table<T>::key) +
           " = $1 AND version = $2";
  }();
  return sql;
}

}  // namespace detail

// Sets the members of the row `key` where its version is `version_seen`; the version
// it has now. One statement: there is no moment between check and change.
template <auto first, auto... rest, class... Values>
std::int64_t update_if_unchanged(Transaction& tx, const auto& key, std::int64_t version_seen, const Values&... values) {
  static_assert(1 + sizeof...(rest) == sizeof...(Values), "one value for each member");
  using T = detail::RowOf<first>;
  if (tx.execute(detail::update_if_unchanged_sql<first, rest...>(), key, version_seen, values...) == 1) {
    if (tx.watched())
      tx.note(
          {RowAccess::Kind::write, detail::resource_of<T>(), detail::key_text(key), version_seen, version_seen + 1});
    return version_seen + 1;
  }
  static const std::string sql =
      "SELECT version FROM " + std::string(Table<T>::name) + " WHERE " + std::string(Table<T>::key) + " = $1";
  detail::raise_stale(tx, sql, Table<T>::name, Param(key), version_seen);
}

}  // namespace skald
