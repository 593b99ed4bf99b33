// Aggregates: rows with a version that are read, changed by a rule of the business, and saved where nobody else has
// changed them meanwhile. How often a collision is met by reading again is declared once per aggregate:
//
//   template <> struct skald::OnConflict<Git> { static constexpr int retries = 3; };   // WorkTree: 0
//
//   const Git git = change<Git>(tx, id, [&](Git& git) { git.name = name; });           // in a transaction at hand
//   change<Git>(env, db, pause, "rename git", id, [&](Git& git) { … });                // in one of its own each time
//
// | what happens                                | in a transaction at hand  | in one of its own                     |
// | another has changed it since it was read    | read and run again at once | again after 50, 100, 200 ms and chance |
// | after `retries` of those                     | Stale STALE_ROW            | Stale STILL_STALE                     |
// | there is no such row                         | NotFound NO_SUCH_ROW       | the same                              |
// | the rule throws                              | that, at once              | the same                              |
//
// The rule may run several times, so it has no effects but on the row: emit behind it. At once is enough in a
// transaction at hand: the update has waited for the other's commit, and the next read sees it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "skald/optimistic.h"

namespace skald {

template <class T> struct OnConflict {
  static constexpr int retries = 0;
};

inline constexpr Duration kConflictPause = 50ms;  // then doubled

template <Described T>
T found(Transaction& tx, const auto& key) {
  auto row = tx.find<T>(key);
  if (!row) throw NotFound("NO_SUCH_ROW", "there is no such row in " + std::string(Table<T>::name));
  return std::move(*row);
}

template <Described T, class Rule>
T change(Transaction& tx, const auto& key, Rule&& rule) {
  for (int retries = 0;; ++retries) {
    T row = found<T>(tx, key);
    rule(row);
    try {
      tx.save(row);
      return row;
    } catch (const Stale&) {
      if (retries >= OnConflict<T>::retries) throw;
    }
  }
}

template <Described T, class Rule>
void change(const Env& env, Database& db, const Pause& pause, std::string_view name, const auto& key, Rule&& rule) {
  const RetryPolicy policy{.aggregate = std::string(Table<T>::name),
                           .tries = OnConflict<T>::retries + 1,
                           .first = kConflictPause,
                           .doubles = true};
  retry_stale(env, db, policy, pause, name, [&](Transaction& tx) {
    T row = found<T>(tx, key);
    rule(row);
    tx.save(row);
  });
}

}  // namespace skald
