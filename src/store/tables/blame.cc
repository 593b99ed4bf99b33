#include "store/tables/blame.h"

#include "base/hash.h"
#include "env/seam.h"
#include "store/tables/live.h"

namespace skald::tables::blame {
namespace {

using seam::Rule;

std::string_view name_of(Kind kind) { return kind == Kind::saga ? "saga" : "event"; }

bool counts(Kind kind) { return seam::holds(kind == Kind::saga ? Rule::saga_crashes_counted : Rule::crash_counted); }

Blame blame_at(const Rows& rows, std::size_t row, std::size_t column) {
  return {rows.get<int>(row, column), rows.get<int>(row, column + 1), rows.get<int>(row, column + 2) != 0};
}

}  // namespace

std::map<std::string, Blame, std::less<>> find(Transaction& tx, Kind kind, std::span<const std::string> ids) {
  std::map<std::string, Blame, std::less<>> out;
  for (const std::string& id : ids) {
    const Rows rows =
        tx.query("SELECT counted, parked_at, sure FROM skald_blame WHERE kind = $1 AND id = $2", name_of(kind), id);
    if (!rows.empty()) out.emplace(id, blame_at(rows, 0, 0));
  }
  return out;
}

bool mark(Transaction& tx, Kind kind, std::string_view id, std::string_view worker) {
  // Sagas and events are claimed by two threads, and neither would see what the other has not committed.
  const auto place = static_cast<std::int64_t>(hash64(unambiguous({"skald-blame", worker})));
  if (tx.on(Dialect::postgres) && !tx.query("SELECT pg_try_advisory_xact_lock($1)", place).get<bool>(0, 0))
    return false;
  lift_kind(tx, kind, worker);
  if (!tx.query("SELECT 1 FROM skald_blame WHERE marked_by = $1", worker).empty()) return false;
  tx.enqueue(
      "INSERT INTO skald_blame (kind, id, marked_by) VALUES ($1, $2, $3) ON CONFLICT (kind, id) DO UPDATE SET "
      "marked_by = excluded.marked_by",
      name_of(kind), id, worker);
  return true;
}

void lift_kind(Transaction& tx, Kind kind, std::string_view worker) {
  tx.enqueue("UPDATE skald_blame SET marked_by = '' WHERE kind = $1 AND marked_by = $2", name_of(kind), worker);
}

void lift_all(Transaction& tx, std::string_view worker) {
  tx.enqueue("UPDATE skald_blame SET marked_by = '' WHERE marked_by = $1", worker);
}

void clear(Transaction& tx, Kind kind, std::string_view id) {
  tx.enqueue("DELETE FROM skald_blame WHERE kind = $1 AND id = $2", name_of(kind), id);
}

std::vector<Counted> count_death(Transaction& tx, std::string_view worker) {
  const Rows marked = tx.query(
      "UPDATE skald_blame SET counted = counted + CASE WHEN counted_for = $1 THEN 0 ELSE 1 END, sure = CASE WHEN "
      "counted_for = $1 THEN sure ELSE 0 END, counted_for = $1, marked_by = '' WHERE marked_by = $1 "
      "RETURNING kind, id, counted, parked_at, sure",
      worker);
  std::vector<Counted> out;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    const Kind kind = marked.get<std::string_view>(i, 0) == name_of(Kind::saga) ? Kind::saga : Kind::event;
    out.push_back({kind, marked.get<std::string>(i, 1), blame_at(marked, i, 2)});
    if (!counts(kind)) clear(tx, kind, out.back().id);
  }
  return out;
}

bool count_report(Transaction& tx, std::string_view worker, Kind kind, std::string_view id) {
  // Alone from now on, whatever it has been in before.
  const auto live = kind == Kind::saga
                        ? tx.execute(
                              "UPDATE skald_saga SET take_overs = CASE WHEN take_overs < $2 THEN $2 ELSE "
                              "take_overs END WHERE id = $1 AND " SKALD_STILL_LIVE,
                              id, kDeathsAlone)
                        : tx.execute(
                              "UPDATE skald_outbox SET crashes = CASE WHEN crashes < $2 THEN $2 ELSE crashes "
                              "END WHERE id = $1 AND " SKALD_STILL_LIVE,
                              id, kDeathsAlone);
  if (live == 0 || !counts(kind)) return false;
  tx.execute(
      "INSERT INTO skald_blame (kind, id, counted, sure, counted_for) VALUES ($1, $2, 1, 1, $3) ON CONFLICT (kind, id) "
      "DO UPDATE SET counted = skald_blame.counted + CASE WHEN skald_blame.counted_for = $3 THEN 0 ELSE 1 END, "
      "sure = 1, counted_for = $3",
      name_of(kind), id, worker);
  return true;
}

void park(Transaction& tx, Kind kind, std::string_view id, std::optional<Time> retry_at) {
  tx.enqueue("UPDATE skald_blame SET parked_at = counted, marked_by = '', retry_at = $3 WHERE kind = $1 AND id = $2",
             name_of(kind), id, retry_at);
}

std::optional<Duration> retry_after(const Blame& blame, std::span<const Duration> retries) {
  const auto made = static_cast<std::size_t>(std::max(0, blame.counted - kCountsMax));
  if (made >= retries.size()) return std::nullopt;
  return retries[made];
}

std::vector<std::string> take_due_events(Transaction& tx, std::size_t most) {
  const Rows rows = tx.query(
      "UPDATE skald_blame SET retry_at = NULL WHERE kind = 'event' AND id IN (SELECT id FROM skald_blame WHERE kind = "
      "'event' AND retry_at <= $1 ORDER BY retry_at LIMIT $2) RETURNING id",
      tx.now(), most);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<std::string>(i, 0));
  return out;
}

}  // namespace skald::tables::blame
