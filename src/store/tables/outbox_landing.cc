// Events of other services.
#include <algorithm>

#include "env/seam.h"
#include "skald/json.h"
#include "store/tables/chain.h"
#include "store/tables/outbox.h"
#include "store/tables/outbox_columns.h"
#include "store/tables/partition.h"

namespace skald::tables::outbox {
namespace {

using seam::Rule;

struct LandingArrays : EventArrays {
  std::vector<std::int64_t> times, out_of_order;
  std::vector<std::string> sources;

  explicit LandingArrays(std::span<const Landing> landings) {
    for (const Landing& one : landings) {
      add(*one.event, one.content_hash, one.retries_max);
      times.push_back(to_micros(one.time));
      out_of_order.push_back(one.out_of_order ? 1 : 0);
      sources.emplace_back(one.source);
    }
  }
  // As SKALD_LANDING_ARRAYS has them, and those of the statement itself behind them.
  std::vector<Param> bind(std::initializer_list<Param> more) const {
    auto params = EventArrays::bind();
    params.insert(params.end(), {sources, times, out_of_order});
    params.insert(params.end(), more);
    return params;
  }
};
#define SKALD_LANDING_ARRAYS SKALD_EVENT_ARRAYS ", $10::text[], $11::bigint[], $12::bigint[]"

// As insert() of many does; what is known is left out.
constexpr std::string_view kLand =
    "WITH l AS MATERIALIZED (SELECT count(pg_advisory_xact_lock(h)::text) FROM (SELECT DISTINCT h FROM "
    "unnest($13::bigint[]) h ORDER BY h) s) "
    "INSERT INTO skald_outbox (" SKALD_EVENT_COLUMNS
    ", source, out_of_order, created_at, updated_at) "
    "SELECT " SKALD_EVENT_VALUES ", e.source, e.late, e.at, " SKALD_NOW " FROM l, unnest(" SKALD_LANDING_ARRAYS
    ") AS e(" SKALD_EVENT_COLUMNS ", source, at, late) ON CONFLICT (id) DO NOTHING";
// Landing twice does nothing: where a COMMIT is lost, that is the way to know.
constexpr std::string_view kNeverThere = "SELECT 1 WHERE $1::text IS NULL";

constexpr std::string_view kLandOne = "INSERT INTO skald_outbox (" SKALD_EVENT_COLUMNS
                                      ", source, created_at, updated_at, out_of_order, locked_by, status, live, "
                                      "attempts) VALUES ($1, $2, $3, $4, $5, $6, "
                                      "$7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT (id) DO NOTHING";

// No key's lock is taken: a row that is never live is in nobody's way, and whoever has a
// handler's locks may want a key's next.
#define SKALD_OWNED_PARTITIONS                                                                              \
  "owned AS MATERIALIZED (SELECT p.id FROM skald_partition p JOIN unnest($13::bigint[], $14::bigint[]) AS " \
  "w(id, fence) ON w.id = p.id WHERE p.owner = $15 AND p.fence = w.fence FOR SHARE OF p), "
#define SKALD_LAND_COMPLETED(more_arrays, more_columns, join)                                                      \
  "landed AS (INSERT INTO skald_outbox (" SKALD_EVENT_COLUMNS                                                      \
  ", source, status, live, attempts, locked_by, out_of_order, created_at, updated_at) "                            \
  "SELECT " SKALD_EVENT_VALUES ", e.source, 3, 0, 1, $15, e.late, e.at, " SKALD_NOW                                \
  " FROM unnest(" SKALD_LANDING_ARRAYS more_arrays ") WITH ORDINALITY AS e(" SKALD_EVENT_COLUMNS                   \
  ", source, at, late" more_columns ", place) " join                                                               \
  "JOIN owned ON owned.id = e.partition WHERE NOT EXISTS (SELECT 1 FROM skald_outbox b WHERE b.partition = "       \
  "e.partition AND b.live = 1 AND b.key = e.key) AND NOT EXISTS (SELECT 1 FROM skald_blocked_key k WHERE k.key = " \
  "e.key) ORDER BY e.place ON CONFLICT (id) DO NOTHING RETURNING id) "
constexpr std::string_view kLandCompleted =
    "WITH " SKALD_OWNED_PARTITIONS SKALD_LAND_COMPLETED("", "", "") "SELECT id FROM landed";

// Whoever lands the same letter at the same time waits for the lane's row, and then finds that its turn is over.
constexpr std::string_view kTakeLetters =
    "WITH turn AS (UPDATE skald_landing l SET number = w.number, chain = w.chain, former = w.former, ids = w.ids, at "
    "= " SKALD_NOW
    " FROM unnest($16::text[], $17::bigint[], $18::bigint[], $19::text[], $20::text[], $21::text[]) AS w(sender, "
    "partition, number, former, chain, ids) WHERE l.sender = w.sender AND l.partition = w.partition AND l.number = "
    "w.number - 1 AND l.chain = w.former RETURNING l.sender, l.partition), " SKALD_OWNED_PARTITIONS
    SKALD_LAND_COMPLETED(", $22::text[]", ", sender",
                         "JOIN turn ON turn.sender = e.sender AND turn.partition = e.partition ")
    "SELECT '', sender, partition FROM turn UNION ALL SELECT id, '', 0 FROM landed";
constexpr std::string_view kBeginLane =
    "INSERT INTO skald_landing (sender, partition, number, chain, former, ids, at) VALUES ($1, $2, 0, '', '', '[]', 0) "
    "ON CONFLICT DO NOTHING";

// `worker`: who completes it at once, or nobody.
void land_one(Transaction& tx, const Landing& one, std::string_view worker = {}) {
  auto params = bind_event(*one.event, one.content_hash, one.retries_max);
  const bool done = !worker.empty();
  params.insert(params.end(),
                {one.source, one.time, tx.now(), one.out_of_order, worker, done ? 3 : 0, done ? 0 : 1, done ? 1 : 0});
  tx.enqueue(kLandOne, std::span<const Param>(params));
}

bool is_free(Transaction& tx, const Event& event) {
  const bool known = !tx.query("SELECT 1 FROM skald_outbox WHERE id = $1", event.id).empty();
  const bool waited_for = !tx.query("SELECT 1 FROM skald_outbox WHERE partition = $1 AND live = 1 AND key = $2",
                                    partition_of(event.key), event.key)
                               .empty() ||
                          !tx.query("SELECT 1 FROM skald_blocked_key WHERE key = $1", event.key).empty();
  return !known && (!waited_for || !seam::holds(Rule::landed_behind_its_key));
}

std::unordered_set<std::string> land_completed_sqlite(Transaction& tx, std::string_view worker,
                                                      std::span<const partition::Ownership> owned,
                                                      std::span<const Landing> landings) {
  const std::vector<int> ours = partition::check(tx, worker, owned);
  std::unordered_set<std::string> landed;
  for (const Landing& one : landings) {
    const bool is_ours = std::ranges::find(ours, partition_of(one.event->key)) != ours.end();
    if (!is_ours || !is_free(tx, *one.event)) continue;
    land_one(tx, one, worker);
    landed.insert(one.event->id);
  }
  return landed;
}

std::vector<Landing> all_landings(std::span<const ArrivedLetter> letters) {
  std::vector<Landing> out;
  for (const ArrivedLetter& letter : letters) out.insert(out.end(), letter.landings.begin(), letter.landings.end());
  return out;
}

TakenLetters take_letters_postgres(Transaction& tx, std::string_view worker,
                                   std::span<const partition::Ownership> owned,
                                   std::span<const ArrivedLetter> letters) {
  std::vector<std::int64_t> ids, fences, partitions, numbers;
  std::vector<std::string> senders, formers, chains, texts, senders_of_events;
  for (const partition::Ownership& one : owned) {
    ids.push_back(one.id);
    fences.push_back(one.fence);
  }
  for (const ArrivedLetter& letter : letters) {
    senders.emplace_back(letter.sender);
    partitions.push_back(letter.partition);
    numbers.push_back(letter.number);
    formers.emplace_back(letter.former);
    chains.push_back(next_chain(letter.former, letter.ids));
    texts.push_back(to_json(letter.ids));
    senders_of_events.insert(senders_of_events.end(), letter.landings.size(), std::string(letter.sender));
  }
  const std::vector<Landing> landings = all_landings(letters);
  const LandingArrays events(landings);
  tx.witness(kNeverThere, letters.front().sender);
  const Rows rows =
      tx.query(kTakeLetters, std::span<const Param>(events.bind({ids, fences, worker, senders, partitions, numbers,
                                                                 formers, chains, texts, senders_of_events})));
  TakenLetters out{std::vector<bool>(letters.size()), {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto id = rows.get<std::string>(i, 0);
    if (!id.empty()) {
      out.handled.insert(std::move(id));
      continue;
    }
    for (std::size_t k = 0; k < letters.size(); ++k)
      if (letters[k].sender == rows.get<std::string_view>(i, 1) && letters[k].partition == rows.get<int>(i, 2))
        out.taken[k] = true;
  }
  return out;
}

TakenLetters take_letters_sqlite(Transaction& tx, std::string_view worker, std::span<const partition::Ownership> owned,
                                 std::span<const ArrivedLetter> letters) {
  TakenLetters out{std::vector<bool>(letters.size()), {}};
  for (std::size_t k = 0; k < letters.size(); ++k) {
    const ArrivedLetter& letter = letters[k];
    out.taken[k] =
        tx.execute(
            "UPDATE skald_landing SET number = $3, chain = $6, former = $7, ids = $4, at = $5 WHERE sender = "
            "$1 AND partition = $2 AND number = $3 - 1 AND chain = $7",
            letter.sender, letter.partition, letter.number, to_json(letter.ids), tx.now(),
            next_chain(letter.former, letter.ids), letter.former) == 1;
    if (out.taken[k]) out.handled.merge(land_completed_sqlite(tx, worker, owned, letter.landings));
  }
  return out;
}

}  // namespace

TakenLetters take_letters(Transaction& tx, std::string_view worker, std::span<const partition::Ownership> owned,
                          std::span<const ArrivedLetter> letters) {
  for (const ArrivedLetter& letter : letters)
    if (letter.number == 1) tx.enqueue(kBeginLane, letter.sender, letter.partition);
  TakenLetters out = tx.on(Dialect::postgres) ? take_letters_postgres(tx, worker, owned, letters)
                                              : take_letters_sqlite(tx, worker, owned, letters);
  std::vector<Landing> rest;
  for (std::size_t k = 0; k < letters.size(); ++k)
    for (const Landing& landing : letters[k].landings)
      if (out.taken[k] && !out.handled.contains(landing.event->id)) rest.push_back(landing);
  if (!rest.empty()) land(tx, rest);
  return out;
}

void land(Transaction& tx, std::span<const Landing> landings) {
  if (tx.on(Dialect::sqlite)) {
    for (const Landing& one : landings) land_one(tx, one);
    return;
  }
  tx.witness(kNeverThere, landings.front().event->id);
  const LandingArrays events(landings);
  tx.enqueue(kLand, std::span<const Param>(events.bind({events.locks})));
}

std::unordered_set<std::string> land_completed(Transaction& tx, std::string_view worker,
                                               std::span<const partition::Ownership> owned,
                                               std::span<const Landing> landings) {
  if (tx.on(Dialect::sqlite)) return land_completed_sqlite(tx, worker, owned, landings);
  std::vector<std::int64_t> ids, fences;
  for (const partition::Ownership& one : owned) {
    ids.push_back(one.id);
    fences.push_back(one.fence);
  }
  const LandingArrays events(landings);
  const Rows rows = tx.query(kLandCompleted, std::span<const Param>(events.bind({ids, fences, worker})));
  std::unordered_set<std::string> landed;
  for (std::size_t i = 0; i < rows.size(); ++i) landed.insert(rows.get<std::string>(i, 0));
  return landed;
}

}  // namespace skald::tables::outbox
