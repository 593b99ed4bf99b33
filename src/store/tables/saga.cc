#include "store/tables/saga.h"

#include "base/hash.h"
#include "env/seam.h"
#include "skald/conditions.h"
#include "store/tables/live.h"

namespace skald::tables::saga {
namespace {

#define SKALD_SAGA_COLUMNS                                                                                      \
  "id, type, revision, key, parent, root, status, owner, fence, take_overs, wake_at, deadline_at, started_at, " \
  "finished_at, progress, state, log, error_code, error_message, traceparent"

Row row_at(const Rows& rows, std::size_t i) {
  Row row;
  std::size_t c = 0;
  const auto text = [&] { return rows.get<std::optional<std::string>>(i, c++).value_or(""); };
  const auto number = [&] { return rows.get<std::int64_t>(i, c++); };
  const auto time = [&] { return rows.get<std::optional<Time>>(i, c++); };
  row.id = text();
  row.type = text();
  row.revision = static_cast<int>(number());
  row.key = text();
  row.parent = text();
  row.root = text();
  row.status = rows.get<SagaStatus>(i, c++);
  row.owner = text();
  row.fence = number();
  row.take_overs = static_cast<int>(number());
  row.wake_at = time();
  row.deadline_at = time();
  row.started_at = rows.get<Time>(i, c++);
  row.finished_at = time();
  row.progress = text();
  row.state = text();
  row.log = text();
  row.error_code = text();
  row.error_message = text();
  row.traceparent = text();
  return row;
}

std::vector<Row> rows_of(const Rows& rows) {
  std::vector<Row> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(row_at(rows, i));
  return out;
}

std::optional<Row> first_of(const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  return row_at(rows, 0);
}

std::optional<std::string_view> or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

std::string json_of(std::span<const std::string> texts) {
  return to_json(std::vector<std::string>(texts.begin(), texts.end()));
}

std::int64_t key_lock(std::string_view type, std::string_view key) {
  return static_cast<std::int64_t>(hash64(unambiguous({"skald-saga-key", type, key})));
}

}  // namespace

void announce(Transaction& tx, std::string_view id) { tx.witness("SELECT 1 FROM skald_saga WHERE id = $1", id); }

void insert(Transaction& tx, const Row& row) {
  announce(tx, row.id);
  tx.enqueue(
      "INSERT INTO skald_saga (" SKALD_SAGA_COLUMNS
      ", live) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)",
      row.id, row.type, row.revision, row.key, row.parent, row.root, row.status, or_null(row.owner), row.fence,
      row.take_overs, row.wake_at, row.deadline_at, row.started_at, row.finished_at, row.progress, row.state, row.log,
      row.error_code, row.error_message, row.traceparent, has_ended(row.status) ? 0 : 1);
}

void update(Transaction& tx, const Row& row) {
  tx.enqueue(
      "UPDATE skald_saga SET revision = $2, status = $3, owner = $4, take_overs = $5, wake_at = $6, deadline_at = $7, "
      "finished_at = $8, progress = $9, state = $10, log = log || CAST($11 AS TEXT), error_code = $12, "
      "error_message = $13, live = $14 WHERE id = $1",
      row.id, row.revision, row.status, or_null(row.owner), row.take_overs, row.wake_at, row.deadline_at,
      row.finished_at, row.progress, row.state, row.log, row.error_code, row.error_message,
      has_ended(row.status) ? 0 : 1);
}

bool hold(Transaction& tx, std::string_view id, std::string_view owner, std::int64_t fence) {
  if (tx.on(Dialect::postgres) && seam::holds(seam::Rule::saga_fence_locked))
    return !tx.query("SELECT 1 FROM skald_saga WHERE id = $1 AND owner = $2 AND fence = $3 FOR UPDATE", id, owner,
                     fence)
                .empty();
  return !tx.query("SELECT 1 FROM skald_saga WHERE id = $1 AND owner = $2 AND fence = $3", id, owner, fence).empty();
}

std::optional<Row> find(Transaction& tx, std::string_view id) {
  return first_of(tx.query("SELECT " SKALD_SAGA_COLUMNS " FROM skald_saga WHERE id = $1", id));
}

std::optional<Row> find_locked(Transaction& tx, std::string_view id) {
  if (tx.on(Dialect::sqlite)) return find(tx, id);
  return first_of(tx.query("SELECT " SKALD_SAGA_COLUMNS " FROM skald_saga WHERE id = $1 FOR UPDATE", id));
}

std::optional<Row> find_live(Transaction& tx, std::string_view type, std::string_view key) {
  if (tx.on(Dialect::postgres) && seam::holds(seam::Rule::business_key_locked))
    tx.enqueue("SELECT pg_advisory_xact_lock($1)", key_lock(type, key));
  return first_of(
      tx.query("SELECT " SKALD_SAGA_COLUMNS " FROM skald_saga WHERE type = $1 AND key = $2 AND live = 1", type, key));
}

// The plus keeps SQLite from going through all sleepers of a type instead of by their
// time.
// Of a row, as definition_name() writes it. An expression: no index but that of wake_at serves a claim.
#define SKALD_SAGA_DEFINITION "(type || '/' || revision)"

std::string definition_name(std::string_view type, int revision) {
  return std::string(type) + "/" + std::to_string(revision);
}

std::vector<Row> claim_due(Transaction& tx, std::string_view owner, std::span<const std::string> definitions,
                           std::size_t limit) {
  constexpr std::string_view postgres =
      "UPDATE skald_saga SET owner = $1, fence = fence + 1, wake_at = NULL WHERE id IN (SELECT id FROM skald_saga "
      "WHERE live = 1 AND owner IS NULL AND wake_at <= $2 AND " SKALD_SAGA_DEFINITION
      " = ANY($4) ORDER BY wake_at LIMIT $3 "
      "FOR UPDATE SKIP LOCKED) RETURNING " SKALD_SAGA_COLUMNS;
  constexpr std::string_view sqlite =
      "UPDATE skald_saga SET owner = $1, fence = fence + 1, wake_at = NULL WHERE id IN (SELECT id FROM skald_saga "
      "WHERE live = 1 AND owner IS NULL AND wake_at <= $2 AND " SKALD_SAGA_DEFINITION
      " IN (SELECT value FROM "
      "json_each($4)) ORDER BY wake_at LIMIT $3) RETURNING " SKALD_SAGA_COLUMNS;
  if (tx.on(Dialect::postgres)) return rows_of(tx.query(postgres, owner, tx.now(), limit, definitions));
  return rows_of(tx.query(sqlite, owner, tx.now(), limit, json_of(definitions)));
}

void put_off(Transaction& tx, std::string_view id, Time until) {
  tx.enqueue("UPDATE skald_saga SET owner = NULL, wake_at = $2 WHERE id = $1", id, until);
}

std::optional<Time> next_wake(Transaction& tx, std::span<const std::string> definitions) {
  constexpr std::string_view postgres =
      "SELECT wake_at FROM skald_saga WHERE live = 1 AND owner IS NULL AND wake_at IS NOT NULL "
      "AND " SKALD_SAGA_DEFINITION " = ANY($1) ORDER BY wake_at LIMIT 1";
  constexpr std::string_view sqlite =
      "SELECT wake_at FROM skald_saga WHERE live = 1 AND owner IS NULL AND wake_at IS NOT NULL "
      "AND " SKALD_SAGA_DEFINITION " IN (SELECT value FROM json_each($1)) ORDER BY wake_at LIMIT 1";
  const Rows found =
      tx.on(Dialect::postgres) ? tx.query(postgres, definitions) : tx.query(sqlite, json_of(definitions));
  return found.empty() ? std::nullopt : found.get<std::optional<Time>>(0, 0);
}

void wake(Transaction& tx, std::span<const std::string> ids) {
  for (const std::string& id : ids)
    tx.enqueue("UPDATE skald_saga SET wake_at = $2 WHERE id = $1 AND " SKALD_STILL_LIVE
               " AND owner IS NULL AND status <> $3",
               id, tx.now(), SagaStatus::NEEDS_HELP);
}

void release_all(Transaction& tx, std::string_view owner, bool died) {
  tx.execute(
      "UPDATE skald_saga SET owner = NULL, wake_at = $2, take_overs = take_overs + $3 WHERE owner = $1 AND live = 1",
      owner, tx.now(), died ? 1 : 0);
}

void release(Transaction& tx, std::string_view owner, std::span<const std::string> ids) {
  for (const std::string& id : ids)
    tx.enqueue("UPDATE skald_saga SET owner = NULL, wake_at = $3 WHERE id = $1 AND owner = $2 AND " SKALD_STILL_LIVE,
               id, owner, tx.now());
}

void release_others(Transaction& tx, std::string_view owner, std::span<const std::string> kept) {
  constexpr std::string_view postgres =
      "UPDATE skald_saga SET owner = NULL, wake_at = $2 WHERE owner = $1 AND live = 1 AND id <> ALL($3)";
  constexpr std::string_view sqlite =
      "UPDATE skald_saga SET owner = NULL, wake_at = $2 WHERE owner = $1 AND live = 1 AND id NOT IN (SELECT value FROM "
      "json_each($3))";
  if (tx.on(Dialect::postgres)) tx.execute(postgres, owner, tx.now(), kept);
  else tx.execute(sqlite, owner, tx.now(), json_of(kept));
}

void release_adrift(Transaction& tx) {
  tx.execute(
      "UPDATE skald_saga SET owner = NULL, wake_at = $1 WHERE live = 1 AND owner IS NOT NULL AND NOT EXISTS (SELECT 1 "
      "FROM skald_worker w WHERE w.id = skald_saga.owner)",
      tx.now());
}

std::int64_t forget_ended(Transaction& tx, Time before, int most) {
  const Rows gone = tx.query(
      "DELETE FROM skald_saga WHERE id IN (SELECT s.id FROM skald_saga s WHERE s.live = 0 AND s.finished_at < $1 AND "
      "NOT EXISTS (SELECT 1 FROM skald_saga p WHERE p.id = s.parent AND p.live = 1) LIMIT $2) RETURNING id",
      before, most);
  for (std::size_t i = 0; i < gone.size(); ++i)
    tx.enqueue("DELETE FROM skald_signal WHERE saga_id = $1", gone.get<std::string_view>(i, 0));
  return static_cast<std::int64_t>(gone.size());
}

std::vector<Row> list(Transaction& tx, const Filter& filter) {
  Conditions wanted;
  if (filter.status) wanted.add("status = " + wanted.bind(*filter.status));
  // Few are live among all that have ended, and there is an index of those.
  if (filter.status && !has_ended(*filter.status)) wanted.add("live = 1");
  if (filter.type) wanted.add("type = " + wanted.bind(*filter.type));
  if (filter.key) wanted.add("key = " + wanted.bind(*filter.key));
  if (filter.code) wanted.add("error_code = " + wanted.bind(*filter.code));
  if (filter.after) wanted.add("id < " + wanted.bind(*filter.after));
  const std::string limit = wanted.bind(filter.limit);
  return rows_of(
      tx.query("SELECT " SKALD_SAGA_COLUMNS " FROM skald_saga " + wanted.where() + " ORDER BY id DESC LIMIT " + limit,
               wanted.params()));
}

std::vector<InFlight> in_flight(Transaction& tx) {
  constexpr std::size_t shown = 5;
  const Rows kinds = tx.query(
      "SELECT type, revision, COUNT(*) FROM skald_saga WHERE live = 1 GROUP BY type, revision ORDER BY type, revision");
  std::vector<InFlight> out;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    InFlight found{kinds.get<std::string>(i, 0), kinds.get<int>(i, 1), kinds.get<std::int64_t>(i, 2), {}};
    const Rows ids = tx.query("SELECT id FROM skald_saga WHERE live = 1 AND type = $1 AND revision = $2 LIMIT $3",
                              found.type, found.version, shown);
    for (std::size_t k = 0; k < ids.size(); ++k) found.ids.push_back(ids.get<std::string>(k, 0));
    out.push_back(std::move(found));
  }
  return out;
}

}  // namespace skald::tables::saga
