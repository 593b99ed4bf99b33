#include "skald/optimistic.h"

#include <algorithm>

namespace skald {

Duration stale_pause(const RetryPolicy& policy, int failures, Random& random) {
  const double chance = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
  const Duration wait = policy.first * (policy.doubles ? 1 << std::min(failures - 1, 16) : failures);
  return wait + Duration(static_cast<std::int64_t>(static_cast<double>(wait.count()) * policy.jitter * chance));
}

void retry_stale(Env env, Database& db, const RetryPolicy& policy, const Pause& pause, std::string_view name,
                 const Database::Body& body) {
  for (int failures = 1;; ++failures) {
    try {
      db.write(name, body);
      return;
    } catch (const Stale& stale) {
      env.observer.count("stale_tries_total");
      if (failures >= policy.tries)
        throw Stale("STILL_STALE", policy.aggregate + " was changed by others during each of " +
                                       std::to_string(failures) + " tries of '" + std::string(name) +
                                       "', try again later: " + stale.what());
    }
    pause(stale_pause(policy, failures, env.random));
  }
}

void detail::raise_stale(Transaction& tx, std::string_view version_sql, std::string_view table, const Param& key,
                         std::int64_t version_seen) {
  const Rows rows = tx.query(version_sql, std::span(&key, 1));
  if (rows.empty())
    throw NotFound("ROW_GONE", "a row of " + std::string(table) + " that was read at version " +
                                   std::to_string(version_seen) + " is not there any more");
  throw Stale("STALE_ROW", "a row of " + std::string(table) + " was at version " + std::to_string(version_seen) +
                               " when it was read and is at " + std::to_string(rows.get<std::int64_t>(0, 0)) +
                               " now; read it again");
}

}  // namespace skald
