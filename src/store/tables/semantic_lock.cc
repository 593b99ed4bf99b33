#include "store/tables/semantic_lock.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"
#include "env/seam.h"
#include "skald/conditions.h"

namespace skald::tables::semantic_lock {
namespace {

constexpr int kWaitersShown = 100;  // of a lock, in a list

#define SKALD_LOCK_COLUMNS "resource, key, root, waiter, mode, granted, seq, since, step"

std::int64_t place_lock(const Place& place) {
  return static_cast<std::int64_t>(hash64(unambiguous({"skald-lock", place.resource, place.key})));
}

std::vector<Row> rows_of(const Rows& rows) {
  std::vector<Row> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({{rows.get<std::string>(i, 0), rows.get<std::string>(i, 1)},
                   rows.get<std::string>(i, 2),
                   rows.get<std::string>(i, 3),
                   rows.get<LockMode>(i, 4),
                   rows.get<bool>(i, 5),
                   rows.get<std::int64_t>(i, 6),
                   rows.get<Time>(i, 7),
                   rows.get<std::string>(i, 8)});
  return out;
}

struct Columns {
  std::vector<std::string> resources, keys;
  explicit Columns(std::span<const Place> places) {
    for (const Place& place : places) {
      resources.push_back(place.resource);
      keys.push_back(place.key);
    }
  }
};

constexpr std::string_view kRowsAt =
    "SELECT " SKALD_LOCK_COLUMNS
    " FROM skald_lock WHERE (resource, key) IN (SELECT * FROM unnest($1::text[], $2::text[])) ORDER BY seq";

std::vector<Row> rows_one_by_one(Transaction& tx, std::span<const Place> places) {
  std::vector<Row> out;
  for (const Place& place : places) {
    auto rows =
        rows_of(tx.query("SELECT " SKALD_LOCK_COLUMNS " FROM skald_lock WHERE resource = $1 AND key = $2 ORDER BY seq",
                         place.resource, place.key));
    std::ranges::move(rows, std::back_inserter(out));
  }
  return out;
}

// A row for each who waits, or one for a lock that nobody waits for.
std::vector<LockView> views_of(const Rows& rows) {
  const auto place = [](const LockView& lock) { return std::tie(lock.resource, lock.key, lock.saga_id); };
  std::vector<LockView> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LockView lock{.resource = rows.get<std::string>(i, 0),
                  .key = rows.get<std::string>(i, 1),
                  .saga_id = rows.get<std::string>(i, 2),
                  .saga_type = rows.get<std::optional<std::string>>(i, 3).value_or(""),
                  .step = rows.get<std::string>(i, 4),
                  .mode = rows.get<LockMode>(i, 5),
                  .since = rows.get<Time>(i, 6),
                  .waiting = {},
                  .waiting_count = rows.get<std::optional<std::int64_t>>(i, 7).value_or(0)};
    if (out.empty() || place(out.back()) != place(lock)) out.push_back(std::move(lock));
    if (auto waiter = rows.get<std::optional<std::string>>(i, 8))
      out.back().waiting.push_back({std::move(*waiter), rows.get<Time>(i, 9)});
  }
  return out;
}

std::vector<Place> places_of(std::span<const Request> requests) {
  std::vector<Place> out;
  for (const Request& request : requests) out.push_back(request.place);
  return out;
}

}  // namespace

std::optional<std::vector<Row>> probe(Transaction& tx, std::span<const Request> requests) {
  const std::vector<Place> places = places_of(requests);
  if (tx.on(Dialect::sqlite) || !seam::holds(seam::Rule::lock_place_probed)) return rows_one_by_one(tx, places);
  std::vector<std::int64_t> locks, alone;
  for (const Request& request : requests) {
    locks.push_back(place_lock(request.place));
    alone.push_back(request.mode == LockMode::exclusive ? 1 : 0);
  }
  const Columns columns(places);
  const auto answers = tx.query_together({{"SELECT bool_and(CASE WHEN alone = 1 THEN pg_try_advisory_xact_lock(h) ELSE "
                                           "pg_try_advisory_xact_lock_shared(h) "
                                           "END) FROM unnest($1::bigint[], $2::bigint[]) AS u(h, alone)",
                                           {locks, alone}},
                                          {kRowsAt, {columns.resources, columns.keys}}});
  if (!answers[0].get<bool>(0, 0)) return std::nullopt;
  return rows_of(answers[1]);
}

std::vector<Row> enter(Transaction& tx, std::span<const Place> places) {
  if (tx.on(Dialect::sqlite) || !seam::holds(seam::Rule::lock_queue_entered_alone)) return rows_one_by_one(tx, places);
  std::vector<std::int64_t> locks;
  for (const Place& place : places) locks.push_back(place_lock(place));
  std::ranges::sort(locks);
  for (const std::int64_t lock : locks) tx.enqueue("SELECT pg_advisory_xact_lock($1)", lock);
  const Columns columns(places);
  return rows_of(tx.query(kRowsAt, columns.resources, columns.keys));
}

void insert(Transaction& tx, const Row& row) {
  tx.enqueue(
      "INSERT INTO skald_lock (" SKALD_LOCK_COLUMNS
      ") SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), "
      "CAST($6 AS BIGINT), COALESCE(MAX(seq), 0) + 1, CAST($7 AS BIGINT), CAST($8 AS TEXT) FROM skald_lock WHERE "
      "resource = $1 AND key = $2",
      row.place.resource, row.place.key, row.root, row.waiter, row.mode, row.granted ? 1 : 0, row.since, row.step);
}

void grant(Transaction& tx, const Row& row) {
  tx.enqueue("UPDATE skald_lock SET granted = 1, since = $4 WHERE resource = $1 AND key = $2 AND root = $3",
             row.place.resource, row.place.key, row.root, tx.now());
}

void make_exclusive(Transaction& tx, const Place& place, std::string_view root) {
  tx.enqueue("UPDATE skald_lock SET mode = $4 WHERE resource = $1 AND key = $2 AND root = $3", place.resource,
             place.key, root, LockMode::exclusive);
}

void remove(Transaction& tx, const Place& place, std::string_view root) {
  tx.enqueue("DELETE FROM skald_lock WHERE resource = $1 AND key = $2 AND root = $3", place.resource, place.key, root);
}

std::vector<Place> held_by(Transaction& tx, std::string_view root) {
  const Rows rows = tx.query("SELECT resource, key FROM skald_lock WHERE root = $1 AND granted = 1", root);
  std::vector<Place> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({rows.get<std::string>(i, 0), rows.get<std::string>(i, 1)});
  return out;
}

std::vector<std::string> waiting_holders(Transaction& tx, std::string_view root) {
  const Rows rows = tx.query(
      "SELECT DISTINCT h.root FROM skald_lock w JOIN skald_lock h ON h.resource = w.resource AND h.key = w.key AND "
      "h.granted = 1 AND h.root <> w.root WHERE w.root = $1 AND w.granted = 0 AND EXISTS (SELECT 1 FROM skald_lock x "
      "WHERE x.root = h.root AND x.granted = 0) ORDER BY 1",
      root);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<std::string>(i, 0));
  return out;
}

std::optional<std::string> waiter_of(Transaction& tx, std::string_view root) {
  const Rows rows = tx.query("SELECT waiter FROM skald_lock WHERE root = $1 AND granted = 0", root);
  if (rows.empty()) return std::nullopt;
  return rows.get<std::string>(0, 0);
}

std::vector<Row> all(Transaction& tx, std::size_t limit) {
  return rows_of(tx.query(
      "SELECT " SKALD_LOCK_COLUMNS " FROM skald_lock ORDER BY resource, key, granted DESC, seq LIMIT $1", limit));
}

std::vector<LockView> list(Transaction& tx, const LockFilter& filter) {
  Conditions wanted;
  wanted.add("granted = 1");
  if (filter.resource) wanted.add("resource = " + wanted.bind(*filter.resource));
  if (filter.key) wanted.add("key = " + wanted.bind(*filter.key));
  if (filter.saga_id) wanted.add("root = " + wanted.bind(*filter.saga_id));
  if (const auto& after = filter.after)
    wanted.add("(resource, key, root) > (" + wanted.bind(after->resource) + ", " + wanted.bind(after->key) + ", " +
               wanted.bind(after->saga_id) + ")");
  const std::string limit = wanted.bind(filter.limit), waiters = wanted.bind(kWaitersShown);
  // One statement: a lock and its queue are as they were at one moment.
  return views_of(tx.query(
      "WITH page AS (SELECT resource, key, root, step, mode, since FROM skald_lock " + wanted.where() +
          " ORDER BY resource, key, root LIMIT " + limit +
          "), queue AS (SELECT resource, key, waiter, since, ROW_NUMBER() OVER (PARTITION BY resource, key ORDER BY "
          "seq) AS place, COUNT(*) OVER (PARTITION BY resource, key) AS length FROM skald_lock WHERE granted = 0 AND "
          "(resource, key) IN (SELECT resource, key FROM page)) "
          "SELECT p.resource, p.key, p.root, s.type, p.step, p.mode, p.since, q.length, q.waiter, q.since FROM page p "
          "LEFT JOIN skald_saga s ON s.id = p.root LEFT JOIN queue q ON q.resource = p.resource AND q.key = p.key AND "
          "q.place <= " +
          waiters + " ORDER BY p.resource, p.key, p.root, q.place",
      wanted.params()));
}

}  // namespace skald::tables::semantic_lock
