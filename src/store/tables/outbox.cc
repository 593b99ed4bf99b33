#include "store/tables/outbox.h"

#include <algorithm>

#include "env/seam.h"
#include "store/tables/live.h"
#include "store/tables/outbox_columns.h"

namespace skald::tables::outbox {
namespace {

constexpr std::string_view kInsertOne =
    "WITH l AS MATERIALIZED (SELECT pg_advisory_xact_lock($10)) "
    "INSERT INTO skald_outbox (" SKALD_EVENT_COLUMNS
    ", owed, live, created_at, updated_at) "
    "SELECT $1::text, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::bigint, "
    "o.owed, " SKALD_LIVE_IF("$11::bigint", "o.owed") ", t, t FROM l, (SELECT " SKALD_NOW
                                                      " AS t, " SKALD_OWED("$4::text") " AS owed) o";
constexpr std::string_view kInsertMany =
    "WITH l AS MATERIALIZED (SELECT count(pg_advisory_xact_lock(h)::text) FROM (SELECT DISTINCT h FROM "
    "unnest($10::bigint[]) h ORDER BY h) s) "
    "INSERT INTO skald_outbox (" SKALD_EVENT_COLUMNS ", owed, live, created_at, updated_at) SELECT " SKALD_EVENT_VALUES
    ", o.owed, " SKALD_LIVE_IF("e.is_local",
                               "o.owed") ", t, t FROM l, (SELECT " SKALD_NOW " AS t) clock, unnest(" SKALD_EVENT_ARRAYS
                                         ", $11::bigint[]) AS e(" SKALD_EVENT_COLUMNS
                                         ", is_local), LATERAL (SELECT " SKALD_OWED("e.type") " AS owed) o";
constexpr std::string_view kInsertPlain =
    "INSERT INTO skald_outbox (" SKALD_EVENT_COLUMNS
    ", owed, live, created_at, updated_at) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, o.owed, " SKALD_LIVE_IF(
        "$11", "o.owed") ", $10, $10 FROM (SELECT " SKALD_OWED("$4") " AS owed) o";

// What is owed to subscribers still is not COMPLETED.
#define SKALD_OWED_STILL "COALESCE(owed, CASE WHEN source = '' THEN " SKALD_OWED("skald_outbox.type") " ELSE 0 END)"
#define SKALD_LOCALLY_DONE \
  "live = 0, owed = " SKALD_OWED_STILL ", status = CASE WHEN " SKALD_OWED_STILL " = 0 THEN 3 ELSE 0 END"

// Where nobody subscribes, as most often, looking for subscribers would cost a third of the insert.
constexpr std::string_view kInsertUnowed = "INSERT INTO skald_outbox (" SKALD_EVENT_COLUMNS
                                           ", owed, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
                                           "$9, 0, $10, $10)";

std::vector<Param> bind_entry(const NewEntry& entry, Param last) {
  auto params = bind_event(*entry.event, entry.content_hash, entry.retries_max);
  params.push_back(last);
  params.emplace_back(entry.is_local ? 1 : 0);
  return params;
}

void insert_many(Transaction& tx, std::span<const NewEntry> entries) {
  EventArrays events;
  std::vector<std::int64_t> local;
  for (const NewEntry& entry : entries) {
    events.add(*entry.event, entry.content_hash, entry.retries_max);
    local.push_back(entry.is_local ? 1 : 0);
  }
  auto params = events.bind();
  params.emplace_back(events.locks);
  params.emplace_back(local);
  tx.enqueue(kInsertMany, std::span<const Param>(params));
}

Pending pending_sqlite(Transaction& tx, std::string_view worker, std::span<const Position> positions,
                       std::size_t limit) {
  Pending out;
  for (const Position& p : positions) {
    const bool owned = !tx.query("SELECT 1 FROM skald_partition WHERE id = $1 AND owner = $2 AND fence = $3",
                                 p.partition, worker, p.fence)
                            .empty();
    if (!owned && seam::holds(seam::Rule::fence_checked)) continue;
    out.owned.push_back(p.partition);
    const Rows rows =
        tx.query("SELECT " SKALD_ENTRY_COLUMNS
                 " FROM skald_outbox WHERE partition = $1 AND live = 1 AND seq > $2 ORDER BY seq LIMIT $3",
                 p.partition, p.after, limit);
    for (std::size_t i = 0; i < rows.size(); ++i) out.entries.push_back(entry_at(rows, i));
  }
  const Rows blocked = tx.query("SELECT key FROM skald_blocked_key");
  for (std::size_t i = 0; i < blocked.size(); ++i) out.blocked_keys.push_back(blocked.get<std::string>(i, 0));
  return out;
}

// What is live behind a partition's position, and whether its key is blocked.
#define SKALD_LIVE_BEHIND(partition, after)                                                          \
  "LEFT JOIN LATERAL (SELECT " SKALD_ENTRY_COLUMNS " FROM skald_outbox WHERE partition = " partition \
  " AND live = 1 AND seq > " after " ORDER BY seq LIMIT $5) o ON true "
#define SKALD_WITH_BLOCKED(partition) \
  "SELECT o.*, " partition ", EXISTS (SELECT 1 FROM skald_blocked_key b WHERE b.key = o.key) "

// One row per owned partition at least: its entries, or nulls where it has none.
constexpr std::string_view kPending =
    "WITH owned AS MATERIALIZED (SELECT p.id, w.after FROM skald_partition p JOIN unnest($1::bigint[], $2::bigint[], "
    "$3::bigint[]) AS w(id, fence, after) ON w.id = p.id WHERE p.owner = $4 AND p.fence = w.fence FOR SHARE OF p"
    ") " SKALD_WITH_BLOCKED("owned.id") "FROM owned " SKALD_LIVE_BEHIND("owned.id",
                                                                        "owned.after") "ORDER BY owned.id, o.seq";

// The same of a single partition, whose entries come in no order. A lone event wakes its relay
// with one, and a plan without arrays starts faster.
constexpr std::string_view kPendingOne =
    SKALD_WITH_BLOCKED("p.id") "FROM skald_partition p " SKALD_LIVE_BEHIND("p.id", "$3") "WHERE p.id = $1 AND p.fence = $2 "
                               "AND p.owner = $4 FOR SHARE OF p";

// For the bug of looking at no fence.
constexpr std::string_view kPendingUnfenced =
    "WITH owned AS MATERIALIZED (SELECT w.id, w.after FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w(id, "
    "fence, after) WHERE $4::text IS NOT NULL) " SKALD_WITH_BLOCKED("owned.id") "FROM owned " SKALD_LIVE_BEHIND(
        "owned.id", "owned.after") "ORDER BY owned.id, o.seq";

std::string_view pending_statement(std::size_t positions) {
  if (!seam::holds(seam::Rule::fence_checked)) return kPendingUnfenced;
  return positions == 1 ? kPendingOne : kPending;
}

}  // namespace

void insert(Transaction& tx, std::span<const NewEntry> entries, Owed owed) {
  if (entries.empty()) return;
  tx.witness("SELECT 1 FROM skald_outbox WHERE id = $1", entries.front().event->id);
  if (tx.on(Dialect::sqlite) && owed == Owed::to_nobody) {
    for (const NewEntry& entry : entries) {
      auto params = bind_event(*entry.event, entry.content_hash, entry.retries_max);
      params.emplace_back(tx.now());
      tx.enqueue(kInsertUnowed, std::span<const Param>(params));
    }
  } else if (tx.on(Dialect::sqlite) || !seam::holds(seam::Rule::ids_drawn_under_key_lock)) {
    for (const NewEntry& entry : entries) tx.enqueue(kInsertPlain, std::span<const Param>(bind_entry(entry, tx.now())));
  } else if (entries.size() == 1) {
    tx.enqueue(kInsertOne, std::span<const Param>(bind_entry(entries[0], key_lock(entries[0].event->key))));
  } else {
    insert_many(tx, entries);
  }
}

Pending pending(Transaction& tx, std::string_view worker, std::span<const Position> positions, std::size_t limit) {
  if (tx.on(Dialect::sqlite)) return pending_sqlite(tx, worker, positions, limit);
  std::vector<std::int64_t> ids, fence_numbers, afters;
  for (const Position& p : positions) {
    ids.push_back(p.partition);
    fence_numbers.push_back(p.fence);
    afters.push_back(p.after);
  }
  const std::string_view sql = pending_statement(positions.size());
  const Rows rows = sql == kPendingOne ? tx.query(sql, ids[0], fence_numbers[0], afters[0], worker, limit)
                                       : tx.query(sql, ids, fence_numbers, afters, worker, limit);
  Pending out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int partition = rows.get<int>(i, kColumnCount);
    if (out.owned.empty() || out.owned.back() != partition) out.owned.push_back(partition);
    if (rows.cell(i, 0).kind == Cell::Kind::null) continue;
    out.entries.push_back(entry_at(rows, i));
    if (rows.get<bool>(i, kColumnCount + 1)) out.blocked_keys.push_back(out.entries.back().event.key);
  }
  if (positions.size() == 1) std::ranges::sort(out.entries, {}, &Entry::seq);
  return out;
}

const std::string_view kOffer =
    "SELECT json_build_array(" SKALD_ENTRY_COLUMNS ")::text FROM skald_outbox WHERE id = $1";

std::optional<Entry> read_offer(std::string_view text) {
  try {
    const auto value = json::parse(text);
    if (!value.is_array() || value.get_array().size() != kColumnCount) return std::nullopt;
    auto next = value.get_array().begin();
    return read_entry([&] { return std::string((next++)->as_string()); }, [&] { return (next++)->as_int64(); });
  } catch (const std::exception&) {
    return std::nullopt;  // of a program with other columns
  }
}

// The inbox rows name the entry that was completed: where something is not as assumed there is
// none, and the inbox takes no row without one.
void complete_offered(Transaction& tx, std::string_view worker, const Position& position, std::string_view id,
                      std::span<const std::string> consumers) {
  tx.enqueue(
      "WITH owned AS MATERIALIZED (SELECT id FROM skald_partition WHERE id = $1 AND fence = $2 AND owner = $3 "
      "FOR SHARE), "
      "done AS (UPDATE skald_outbox o SET live = 0, status = CASE WHEN o.owed = 0 THEN 3 ELSE 0 END, attempts = 1, "
      "locked_by = $3, updated_at = " SKALD_NOW
      ", version = version + 1 FROM owned WHERE o.id = $4 AND o.partition = owned.id AND o." SKALD_STILL_LIVE
      " AND o.status = 0 AND o.owed IS NOT NULL "
      "AND NOT EXISTS (SELECT 1 FROM skald_outbox b WHERE b.partition = o.partition AND b.live = 1 AND b.seq < o.seq "
      "AND b.key = o.key) AND NOT EXISTS (SELECT 1 FROM skald_blocked_key k WHERE k.key = o.key) RETURNING o.id) "
      "INSERT INTO skald_inbox (consumer, event_id, at) SELECT c, (SELECT id FROM done), " SKALD_NOW
      " FROM unnest($5::text[]) AS named(c)",
      position.partition, position.fence, worker, id, consumers);
}

void claim(Transaction& tx, std::span<const std::string> ids, std::string_view worker) {
  if (ids.empty()) return;
  if (tx.on(Dialect::postgres)) {
    tx.enqueue(
        "UPDATE skald_outbox SET status = 1, attempts = attempts + 1, locked_by = $2, locked_at = $3, version = "
        "version + 1 WHERE id = ANY($1)",
        ids, worker, tx.now());
    return;
  }
  for (const std::string& id : ids)
    tx.execute(
        "UPDATE skald_outbox SET status = 1, attempts = attempts + 1, locked_by = $2, locked_at = $3, version = "
        "version + 1 WHERE id = $1",
        id, worker, tx.now());
}

void release_claimed(Transaction& tx, std::string_view worker, std::span<const std::int64_t> partitions) {
  for (const std::int64_t partition : partitions)
    tx.enqueue(
        "UPDATE skald_outbox SET status = CASE WHEN attempts > 1 THEN 2 ELSE 0 END, attempts = attempts - 1, "
        "next_retry_at = $3, updated_at = $3, version = version + 1 WHERE partition = $1 AND live = 1 AND status = 1 "
        "AND locked_by = $2",
        partition, worker, tx.now());
}

void complete(Transaction& tx, std::span<const Completion> done, std::string_view worker, bool attempt_counted) {
  if (done.empty()) return;
  const int begun = attempt_counted ? 0 : 1;
  if (tx.on(Dialect::postgres)) {
    std::vector<std::string> ids;
    std::int64_t took = 0;
    for (const Completion& c : done) {
      ids.push_back(c.id);
      took = std::max(took, c.took.count());
    }
    tx.enqueue("UPDATE skald_outbox SET " SKALD_LOCALLY_DONE
               ", crashes = 0, attempts = attempts + $2, locked_by = $3, took = "
               "$4, updated_at = " SKALD_NOW ", version = version + 1 WHERE id = ANY($1) AND " SKALD_STILL_LIVE,
               ids, begun, worker, took);
    return;
  }
  for (const Completion& c : done)
    tx.execute("UPDATE skald_outbox SET " SKALD_LOCALLY_DONE
               ", crashes = 0, attempts = attempts + $2, locked_by = $3, took = "
               "$4, updated_at = $5, "
               "version = version + 1 WHERE id = $1 AND " SKALD_STILL_LIVE,
               c.id, begun, worker, c.took.count(), tx.now());
}

void reschedule(Transaction& tx, const Entry& entry, Time next_retry_at, std::string_view error) {
  tx.execute(
      "UPDATE skald_outbox SET status = 2, attempts = $2, crashes = $3, next_retry_at = $4, last_error = $5, "
      "updated_at = $6, "
      "version = version + 1 WHERE id = $1 AND " SKALD_STILL_LIVE,
      entry.id, entry.attempts, entry.crashes, next_retry_at, error, tx.now());
}

bool bury(Transaction& tx, const Entry& entry, std::string_view error) {
  return tx.execute(
             "UPDATE skald_outbox SET status = 4, live = 0, attempts = $2, crashes = $3, last_error = $4, updated_at = "
             "$5, "
             "version = version + 1 WHERE id = $1 AND " SKALD_STILL_LIVE,
             entry.id, entry.attempts, entry.crashes, error, tx.now()) == 1;
}

bool revive(Transaction& tx, std::string_view id, bool out_of_order) {
  return tx.execute(
             "UPDATE skald_outbox SET status = 0, live = 1, attempts = 0, crashes = 0, next_retry_at = 0, out_of_order "
             "= $2, updated_at = $3, "
             "version = version + 1 WHERE id = $1 AND status = 4",
             id, out_of_order, tx.now()) == 1;
}

std::int64_t forget_completed(Transaction& tx, Time before, int limit) {
  const Rows gone = tx.query(
      "DELETE FROM skald_outbox WHERE id IN (SELECT id FROM skald_outbox WHERE status = 3 AND updated_at < $1 LIMIT "
      "$2) RETURNING id",
      before, limit);
  for (std::size_t i = 0; i < gone.size(); ++i) {
    const auto id = gone.get<std::string_view>(i, 0);
    tx.enqueue("DELETE FROM skald_attempt WHERE event_id = $1", id);
    tx.enqueue("DELETE FROM skald_inbox WHERE event_id = $1", id);
  }
  return static_cast<std::int64_t>(gone.size());
}

}  // namespace skald::tables::outbox
