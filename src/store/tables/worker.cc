#include "store/tables/worker.h"

#include "skald/event.h"

namespace skald::tables::worker {
namespace {

// Beats of all workers, owners of all partitions with what is live and owed, and the subscribers, as texts: an idle
// process asks the database one question a second, this one.
#define SKALD_ADRIFT                                                                                           \
  "(SELECT COUNT(*) FROM skald_saga s WHERE s.live = 1 AND s.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM " \
  "skald_worker w WHERE w.id = s.owner))"

#define SKALD_OWNERSHIP "CASE WHEN p.owner = $1 THEN 'm' WHEN p.owner IS NULL THEN 'n' ELSE 'o' END"

constexpr std::string_view kIsLive = "EXISTS (SELECT 1 FROM skald_outbox o WHERE o.partition = p.id AND o.live = 1)";

// Each subscriber has an index of its own.
std::string is_owed(std::span<const subscriber::Row> known) {
  std::string out = "1 = 0";
  for (const subscriber::Row& row : known)
    out += " OR EXISTS (SELECT 1 FROM skald_outbox o WHERE o.partition = p.id AND " + subscriber::owed_to(row) + ")";
  return out;
}

std::string state_of_partitions(std::span<const subscriber::Row> known) {
  return "p.id || ' ' || " SKALD_OWNERSHIP " || CASE WHEN p.owner = $1 AND " + std::string(kIsLive) +
         " THEN 'l' ELSE '-' END || CASE WHEN p.owner = $1 AND (" + is_owed(known) + ") THEN 'p' ELSE '-' END";
}

std::string beat_postgres(std::span<const subscriber::Row> known) {
  return "WITH me AS (UPDATE skald_worker SET beat = beat + 1, beat_at = (extract(epoch from clock_timestamp()) * "
         "1000000)::bigint, sessions = $2 WHERE id = $1 RETURNING id) "
         "SELECT (SELECT count(*) FROM me), (SELECT string_agg(id || ' ' || beat, E'\n') FROM skald_worker), "
         "(SELECT string_agg(" +
         state_of_partitions(known) +
         ", E'\n') FROM skald_partition p), "
         "(SELECT MIN(wake_at) - (extract(epoch from clock_timestamp()) * 1000000)::bigint FROM skald_saga WHERE live "
         "= "
         "1 AND owner IS NULL), " SKALD_ADRIFT
         ", (SELECT string_agg(name || ' ' || bit, E'\n' ORDER BY name) FROM skald_subscriber)";
}

std::string seen_sqlite(std::span<const subscriber::Row> known) {
  return "SELECT 1, (SELECT group_concat(id || ' ' || beat, char(10)) FROM skald_worker), (SELECT group_concat(" +
         state_of_partitions(known) +
         ", char(10)) FROM skald_partition p), "
         "(SELECT MIN(wake_at) - $2 FROM skald_saga WHERE live = 1 AND owner IS NULL), " SKALD_ADRIFT
         ", (SELECT group_concat(name || ' ' || bit, char(10)) FROM (SELECT name, bit FROM skald_subscriber ORDER BY "
         "name))";
}

template <class F>
void each_pair(std::string_view lines, F&& use) {
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    const auto space = line.find(' ');
    use(line.substr(0, space), line.substr(space + 1));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

std::int64_t number(std::string_view text) {
  return detail::cell_integer(Cell{.kind = Cell::Kind::text, .text = text});
}

}  // namespace

void insert(Transaction& tx, const Worker& worker) {
  tx.execute(
      "INSERT INTO skald_worker (id, host, pid, started_at, beat, beat_at, sessions) VALUES ($1, $2, $3, $4, 0, $4, "
      "$5)",
      worker.id, worker.host, worker.pid, tx.now(), worker.sessions);
}

void remove(Transaction& tx, std::string_view id) { tx.execute("DELETE FROM skald_worker WHERE id = $1", id); }

bool remove_silent(Transaction& tx, std::string_view id, std::int64_t beat) {
  return tx.execute("DELETE FROM skald_worker WHERE id = $1 AND beat = $2", id, beat) > 0;
}

bool hold(Transaction& tx, std::string_view id) {
  if (tx.on(Dialect::postgres)) return !tx.query("SELECT 1 FROM skald_worker WHERE id = $1 FOR SHARE", id).empty();
  return !tx.query("SELECT 1 FROM skald_worker WHERE id = $1", id).empty();
}

std::vector<Worker> all(Transaction& tx) {
  const Rows rows = tx.query("SELECT id, host, pid, started_at, beat, beat_at, sessions FROM skald_worker ORDER BY id");
  std::vector<Worker> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({rows.get<std::string>(i, 0), rows.get<std::string>(i, 1), rows.get<std::int64_t>(i, 2),
                   rows.get<Time>(i, 3), rows.get<std::int64_t>(i, 4), rows.get<Time>(i, 5),
                   rows.get<std::string>(i, 6)});
  return out;
}

void end_other_sessions(Transaction& tx, std::string_view sessions) {
  if (!tx.on(Dialect::postgres)) return;
  tx.query(
      "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN json_array_elements($1::json) s ON a.pid = "
      "(s->>'pid')::bigint AND (extract(epoch FROM a.backend_start) * 1000000)::bigint::text = s->>'started' WHERE "
      "a.pid <> pg_backend_pid()",
      sessions);
}

Pulse beat(Database& db, std::string_view id, std::string_view sessions, std::uint64_t owned,
           std::span<const subscriber::Row> known) {
  Rows rows;
  Pulse pulse;
  if (db.dialect() == Dialect::postgres) {
    rows = db.query_alone(beat_postgres(known), id, sessions);
    pulse.alive = rows.get<int>(0, 0) == 1;
  } else {
    db.write("beat", [&](Transaction& tx) {
      pulse.alive = tx.execute("UPDATE skald_worker SET beat = beat + 1, beat_at = $2, sessions = $3 WHERE id = $1", id,
                               tx.now(), sessions) == 1;
      rows = tx.query(seen_sqlite(known), id, tx.now());
    });
  }
  each_pair(rows.get<std::optional<std::string>>(0, 1).value_or(""),
            [&](std::string_view worker, std::string_view beats) { pulse.beats.emplace_back(worker, number(beats)); });
  std::uint64_t mine = 0;
  each_pair(rows.get<std::string>(0, 2), [&](std::string_view partition, std::string_view state) {
    const std::uint64_t bit = std::uint64_t{1} << number(partition);
    if (state[0] == 'm') mine |= bit;
    if (state[0] == 'n') pulse.partitions_changed = true;
    if (state[1] == 'l') pulse.live |= bit;
    if (state[2] == 'p') pulse.owed |= bit;
  });
  if (const auto due = rows.get<std::optional<std::int64_t>>(0, 3)) pulse.saga_due_in = Duration(*due);
  pulse.sagas_adrift = rows.get<int>(0, 4) > 0;
  each_pair(rows.get<std::optional<std::string>>(0, 5).value_or(""), [&](std::string_view name, std::string_view bit) {
    pulse.subscribers.push_back({std::string(name), static_cast<int>(number(bit))});
  });
  if (mine != owned) pulse.partitions_changed = true;
  return pulse;
}

}  // namespace skald::tables::worker
