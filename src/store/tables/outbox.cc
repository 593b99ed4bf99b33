#include "store/tables/outbox.h"

#include <algorithm>

#include "base/hash.h"
#include "env/seam.h"
#include "store/tables/live.h"
#include "store/tables/outbox_columns.h"

namespace skald::tables::outbox {
namespace {

// Advisory locks share one space per database: this keeps ours apart.
std::int64_t key_lock(std::string_view key) {
  return static_cast<std::int64_t>(hash64(unambiguous({"skald-outbox-key", key})));
}

// A transaction that only writes need not ask for the time first.
#define SKALD_NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

constexpr std::string_view kInsertOne =
    "WITH l AS MATERIALIZED (SELECT pg_advisory_xact_lock($1)) "
    "INSERT INTO skald_outbox (id, partition, key, type, subject, payload, traceparent, content_hash, retries_max, "
    "created_at, updated_at) "
    "SELECT $2::text, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::bigint, t, t "
    "FROM l, (SELECT " SKALD_NOW " AS t) clock";
constexpr std::string_view kInsertMany =
    "WITH l AS MATERIALIZED (SELECT count(pg_advisory_xact_lock(h)::text) FROM (SELECT DISTINCT h FROM "
    "unnest($1::bigint[]) h ORDER BY h) s) "
    "INSERT INTO skald_outbox (id, partition, key, type, subject, payload, traceparent, content_hash, retries_max, "
    "created_at, updated_at) "
    "SELECT e.id, e.partition, e.key, e.type, e.subject, e.payload, e.traceparent, e.hash, e.retries, t, t "
    "FROM l, (SELECT " SKALD_NOW
    " AS t) clock, unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], "
    "$9::text[], "
    "$10::bigint[]) "
    "AS e(id, partition, key, type, subject, payload, traceparent, hash, retries)";
constexpr std::string_view kInsertPlain =
    "INSERT INTO skald_outbox (id, partition, key, type, subject, payload, traceparent, content_hash, retries_max, "
    "created_at, updated_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)";

void insert_plain(Transaction& tx, const NewEntry& entry) {
  const Event& e = *entry.event;
  tx.enqueue(kInsertPlain, e.id, partition_of(e.key), e.key, e.type, e.subject, e.payload, e.traceparent,
             entry.content_hash, entry.retries_max, tx.now());
}

void insert_many(Transaction& tx, std::span<const NewEntry> entries) {
  std::vector<std::int64_t> locks, partitions, retries;
  std::vector<std::string> ids, keys, types, subjects, payloads, traces, hashes;
  for (const NewEntry& entry : entries) {
    const Event& e = *entry.event;
    locks.push_back(key_lock(e.key));
    partitions.push_back(partition_of(e.key));
    retries.push_back(entry.retries_max);
    ids.push_back(e.id);
    keys.push_back(e.key);
    types.push_back(e.type);
    subjects.push_back(e.subject);
    payloads.push_back(e.payload);
    traces.push_back(e.traceparent);
    hashes.push_back(entry.content_hash);
  }
  tx.enqueue(kInsertMany, locks, ids, partitions, keys, types, subjects, payloads, traces, hashes, retries);
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

// As kInsertMany; what is known is left out.
constexpr std::string_view kLand =
    "WITH l AS MATERIALIZED (SELECT count(pg_advisory_xact_lock(h)::text) FROM (SELECT DISTINCT h FROM "
    "unnest($1::bigint[]) h ORDER BY h) s) "
    "INSERT INTO skald_outbox (id, partition, key, type, subject, payload, traceparent, content_hash, retries_max, "
    "source, created_at, updated_at) "
    "SELECT e.id, e.partition, e.key, e.type, e.subject, e.payload, e.traceparent, e.hash, e.retries, e.source, "
    "e.at, " SKALD_NOW
    " FROM l, unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], "
    "$9::text[], $10::bigint[], $11::text[], $12::bigint[]) "
    "AS e(id, partition, key, type, subject, payload, traceparent, hash, retries, source, at) "
    "ON CONFLICT (id) DO NOTHING";
// For the bug of landing what is there already.
constexpr std::string_view kNextSeq = "SELECT '+' || (COALESCE(MAX(seq), 0) + 1) FROM skald_outbox";

constexpr std::string_view kLandOne =
    "INSERT INTO skald_outbox (id, partition, key, type, subject, payload, traceparent, content_hash, retries_max, "
    "source, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) "
    "ON CONFLICT (id) DO NOTHING";
// Landing twice does nothing: where a COMMIT is lost, that is the way to know.
constexpr std::string_view kNeverThere = "SELECT 1 WHERE $1::text IS NULL";

// One row per owned partition at least: its entries, or nulls where it has none.
constexpr std::string_view kPending =
    "WITH owned AS MATERIALIZED (SELECT p.id, w.after FROM skald_partition p JOIN unnest($1::bigint[], $2::bigint[], "
    "$3::bigint[]) AS w(id, fence, after) "
    "ON w.id = p.id WHERE p.owner = $4 AND p.fence = w.fence FOR SHARE OF p) "
    "SELECT o.*, owned.id, EXISTS (SELECT 1 FROM skald_blocked_key b WHERE b.key = o.key) FROM owned LEFT JOIN LATERAL "
    "(SELECT " SKALD_ENTRY_COLUMNS
    " FROM skald_outbox WHERE partition = owned.id AND live = 1 AND seq > owned.after ORDER BY seq LIMIT $5) o ON true "
    "ORDER BY owned.id, o.seq";
// As kPending of a single partition, whose entries come in no order. A lone event wakes its relay
// with one, and a plan without arrays starts faster.
constexpr std::string_view kPendingOne =
    "SELECT o.*, p.id, EXISTS (SELECT 1 FROM skald_blocked_key b WHERE b.key = o.key) FROM skald_partition p "
    "LEFT JOIN LATERAL (SELECT " SKALD_ENTRY_COLUMNS
    " FROM skald_outbox WHERE partition = p.id AND live = 1 AND seq > $3 ORDER BY seq LIMIT $5) o ON true "
    "WHERE p.id = $1 AND p.fence = $2 AND p.owner = $4 FOR SHARE OF p";
constexpr std::string_view kPendingUnfenced =
    "WITH owned AS MATERIALIZED (SELECT w.id, w.after FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w(id, "
    "fence, after) WHERE $4::text IS NOT NULL) "
    "SELECT o.*, owned.id, EXISTS (SELECT 1 FROM skald_blocked_key b WHERE b.key = o.key) FROM owned LEFT JOIN LATERAL "
    "(SELECT " SKALD_ENTRY_COLUMNS
    " FROM skald_outbox WHERE partition = owned.id AND live = 1 AND seq > owned.after ORDER BY seq LIMIT $5) o ON true "
    "ORDER BY owned.id, o.seq";

}  // namespace

void insert(Transaction& tx, std::span<const NewEntry> entries) {
  if (entries.empty()) return;
  tx.witness("SELECT 1 FROM skald_outbox WHERE id = $1", entries.front().event->id);
  if (tx.on(Dialect::sqlite) || !seam::holds(seam::Rule::ids_drawn_under_key_lock)) {
    for (const NewEntry& entry : entries) insert_plain(tx, entry);
  } else if (entries.size() == 1) {
    const Event& e = *entries[0].event;
    tx.enqueue(kInsertOne, key_lock(e.key), e.id, partition_of(e.key), e.key, e.type, e.subject, e.payload,
               e.traceparent, entries[0].content_hash, entries[0].retries_max);
  } else {
    insert_many(tx, entries);
  }
}

void land(Transaction& tx, std::span<const Landing> landings) {
  if (tx.on(Dialect::sqlite)) {
    for (const Landing& one : landings) {
      const Event& e = *one.event;
      const std::string id =
          seam::holds(seam::Rule::landed_once) ? e.id : e.id + tx.query(kNextSeq).get<std::string>(0, 0);
      tx.enqueue(kLandOne, id, partition_of(e.key), e.key, e.type, e.subject, e.payload, e.traceparent,
                 one.content_hash, one.retries_max, one.source, one.time, tx.now());
    }
    return;
  }
  tx.witness(kNeverThere, landings.front().event->id);
  std::vector<std::int64_t> locks, partitions, retries, times;
  std::vector<std::string> ids, keys, types, subjects, payloads, traces, hashes, sources;
  for (const Landing& one : landings) {
    const Event& e = *one.event;
    locks.push_back(key_lock(e.key));
    partitions.push_back(partition_of(e.key));
    retries.push_back(one.retries_max);
    times.push_back(to_micros(one.time));
    ids.push_back(e.id);
    keys.push_back(e.key);
    types.push_back(e.type);
    subjects.push_back(e.subject);
    payloads.push_back(e.payload);
    traces.push_back(e.traceparent);
    hashes.push_back(one.content_hash);
    sources.emplace_back(one.source);
  }
  tx.enqueue(kLand, locks, ids, partitions, keys, types, subjects, payloads, traces, hashes, retries, sources, times);
}

Pending pending(Transaction& tx, std::string_view worker, std::span<const Position> positions, std::size_t limit) {
  if (tx.on(Dialect::sqlite)) return pending_sqlite(tx, worker, positions, limit);
  std::vector<std::int64_t> ids, fences, afters;
  for (const Position& p : positions) {
    ids.push_back(p.partition);
    fences.push_back(p.fence);
    afters.push_back(p.after);
  }
  const bool fenced = seam::holds(seam::Rule::fence_checked);
  const Rows rows = fenced && positions.size() == 1
                        ? tx.query(kPendingOne, ids[0], fences[0], afters[0], worker, limit)
                        : tx.query(fenced ? kPending : kPendingUnfenced, ids, fences, afters, worker, limit);
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

// Divides by zero where something is not as assumed.
void complete_offered(Transaction& tx, std::string_view worker, const Position& position, std::string_view id) {
  tx.enqueue(
      "WITH owned AS MATERIALIZED (SELECT id FROM skald_partition WHERE id = $1 AND fence = $2 AND owner = $3 "
      "FOR SHARE), "
      "done AS (UPDATE skald_outbox o SET status = 3, live = 0, attempts = 1, locked_by = $3, updated_at = " SKALD_NOW
      ", version = version + 1 FROM owned WHERE o.id = $4 AND o.partition = owned.id AND o." SKALD_STILL_LIVE
      " AND o.status = 0 "
      "AND NOT EXISTS (SELECT 1 FROM skald_outbox b WHERE b.partition = o.partition AND b.live = 1 AND b.seq < o.seq "
      "AND b.key = o.key) AND NOT EXISTS (SELECT 1 FROM skald_blocked_key k WHERE k.key = o.key) RETURNING 1) "
      "SELECT 1 / count(*) FROM done",
      position.partition, position.fence, worker, id);
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
    tx.enqueue(
        "UPDATE skald_outbox SET status = 3, live = 0, crashes = 0, attempts = attempts + $2, locked_by = $3, took = "
        "$4, updated_at = " SKALD_NOW ", version = version + 1 WHERE id = ANY($1) AND " SKALD_STILL_LIVE,
        ids, begun, worker, took);
    return;
  }
  for (const Completion& c : done)
    tx.execute(
        "UPDATE skald_outbox SET status = 3, live = 0, crashes = 0, attempts = attempts + $2, locked_by = $3, took = "
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
