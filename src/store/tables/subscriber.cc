#include "store/tables/subscriber.h"

#include <algorithm>

#include "skald/id.h"
#include "store/tables/chain.h"
#include "store/tables/outbox_columns.h"

namespace skald::tables::subscriber {
namespace {

using outbox::entries_in;
using outbox::entry_at;
using outbox::kColumnCount;

constexpr int kBits = 62;  // of a signed number, and one to spare

void check(const Subscriber& subscriber) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  const std::string& name = subscriber.name;
  if (name.empty() || name.size() > 64 || !std::ranges::all_of(name, is_plain))
    throw Invalid("BAD_SUBSCRIBER", "a subscriber's name has 1 to 64 letters, digits, '-' and '_'");
  if (subscriber.types.empty()) throw Invalid("BAD_SUBSCRIBER", "the subscriber " + name + " names no type of event");
  for (const std::string& type : subscriber.types)
    if (type.empty() || type.size() > 200 || type.find('*') < type.size() - 1 ||
        (type.ends_with('*') && !type.ends_with(".*")))
      throw Invalid("BAD_SUBSCRIBER",
                    "the subscriber " + name + " wants events of type '" + type + "'; name a type, or a prefix.*");
}

int free_bit(Transaction& tx) {
  std::vector<int> taken;
  for (const Row& row : all(tx)) taken.push_back(row.bit);
  for (int bit = 0; bit < kBits; ++bit)
    if (std::ranges::find(taken, bit) == taken.end()) return bit;
  throw Invalid("TOO_MANY_SUBSCRIBERS", "a service has at most 62 subscribers; remove one that is gone");
}

void add(Transaction& tx, const Row& row) {
  tx.execute("INSERT INTO skald_subscriber (name, bit, since) VALUES ($1, $2, $3)", row.name, row.bit, tx.now());
  tx.execute("CREATE INDEX " + index_of(row) + " ON skald_outbox (partition, seq) WHERE " + owed_to(row));
  for (int partition = 0; partition < kPartitions; ++partition)
    tx.execute(
        "INSERT INTO skald_lane (subscriber, partition, number, chain) VALUES ($1, $2, 0, '') ON CONFLICT DO NOTHING",
        row.name, partition);
}

void want(Transaction& tx, const Row& row, std::span<const std::string> types) {
  tx.execute("DELETE FROM skald_subscription WHERE subscriber = $1", row.name);
  for (const std::string& type : types) {
    const bool prefix = type.ends_with('*');
    tx.execute(
        "INSERT INTO skald_subscription (subscriber, type, is_prefix, mask) VALUES ($1, $2, $3, $4) ON CONFLICT DO "
        "NOTHING",
        row.name, prefix ? type.substr(0, type.size() - 1) : type, prefix, row.mask());
  }
}

// Not those of other services, which are not ours to send, nor those that are dead letters.
void owe_what_is_kept(Transaction& tx, const Row& row) {
  tx.execute(
      "UPDATE skald_outbox SET owed = COALESCE(owed, 0) | $1, status = CASE WHEN status = 3 THEN 0 ELSE status END "
      "WHERE source = '' AND status <> 4 AND (owed IS NOT NULL OR status = 3) AND (" SKALD_OWED(
          "skald_outbox.type") " & $1) <> 0",
      row.mask());
}

#define SKALD_SETTLED(table)                                                       \
  "status = CASE WHEN " table "live = 0 AND " table "status = 0 AND (" table       \
  "owed & ~CAST($2 AS BIGINT)) = 0 THEN 3 ELSE " table "status END, owed = " table \
  "owed & ~CAST($2 AS BIGINT), version = version + 1"

// Who settles may not have heard yet that the subscriber was removed, and that its bit is another's.
#define SKALD_STILL_ITS_BIT(bit) "EXISTS (SELECT 1 FROM skald_subscriber s WHERE s.name = $1 AND s.bit = " bit ")"

constexpr std::string_view kSettle =
    "WITH moved AS (UPDATE skald_lane l SET number = w.number, chain = w.chain, at = " SKALD_NOW
    " FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[]) AS w(partition, number, former, chain) WHERE "
    "l.subscriber = $1 AND l.partition = w.partition AND l.number = w.number - 1 AND l.chain = w.former AND "
    SKALD_STILL_ITS_BIT("$9") " RETURNING l.partition, l.number) "
    "UPDATE skald_outbox o SET " SKALD_SETTLED("o.") ", proof = o.proof || $1 || ' ' || m.number || ' ' || m.t || "
    "E'\\n', updated_at = m.t FROM (SELECT e.id, e.partition, moved.number, " SKALD_NOW
    " AS t FROM moved JOIN unnest($7::text[], $8::bigint[]) AS e(id, partition) ON e.partition = moved.partition) m "
    "WHERE o.id = m.id AND o.partition = m.partition AND (o.owed & $2) <> 0";
// Settling twice does nothing: where a COMMIT is lost, that is the way to know.
constexpr std::string_view kNeverThere = "SELECT 1 WHERE $1::text IS NULL";

void settle_postgres(Transaction& tx, const Row& row, std::span<const Landed> landed) {
  std::vector<std::int64_t> partitions, numbers, places;
  std::vector<std::string> formers, chains, ids;
  for (const Landed& one : landed) {
    partitions.push_back(one.partition);
    numbers.push_back(one.number);
    formers.push_back(one.former);
    chains.push_back(next_chain(one.former, one.ids));
    for (const std::string& id : one.ids) {
      ids.push_back(id);
      places.push_back(one.partition);
    }
  }
  tx.witness(kNeverThere, row.name);
  tx.enqueue(kSettle, row.name, row.mask(), partitions, numbers, formers, chains, ids, places, row.bit);
}

// Rows of ready(): the lane's partition and number in front, then an entry or nulls.
std::vector<Ready> read_ready(const Rows& rows) {
  std::vector<Ready> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int partition = rows.get<int>(i, kColumnCount);
    if (out.empty() || out.back().partition != partition)
      out.push_back(
          {partition, {rows.get<std::int64_t>(i, kColumnCount + 1), rows.get<std::string>(i, kColumnCount + 2)}, {}});
    if (rows.cell(i, 0).kind != Cell::Kind::null) out.back().entries.push_back(entry_at(rows, i));
  }
  return out;
}

// The first of them in any case, then as many as fit.
std::string letter_of(const Row& row, const std::string& partition) {
  const std::string most = std::to_string(kEventsMax), bytes = std::to_string(kBytesMax);
  return "(SELECT " SKALD_ENTRY_COLUMNS
         " FROM (SELECT *, SUM(length(payload) + 512) OVER (ORDER BY seq) AS bytes, row_number() OVER (ORDER BY seq) "
         "AS "
         "place FROM (SELECT * FROM skald_outbox WHERE partition = " +
         partition + " AND " + owed_to(row) + " ORDER BY seq LIMIT " + most +
         ") first) sized WHERE place = 1 OR bytes <= " + bytes + " ORDER BY seq)";
}

}  // namespace

std::string database_id(Transaction& tx, Random& random) {
  tx.execute("INSERT INTO skald_database (one, id) VALUES (1, $1) ON CONFLICT DO NOTHING", make_id(tx.now(), random));
  return tx.query("SELECT id FROM skald_database WHERE one = 1").get<std::string>(0, 0);
}

std::vector<Row> all(Transaction& tx) {
  const Rows rows = tx.query("SELECT name, bit FROM skald_subscriber ORDER BY name");
  std::vector<Row> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back({rows.get<std::string>(i, 0), rows.get<int>(i, 1)});
  return out;
}

std::optional<Row> find(Transaction& tx, std::string_view name) {
  const Rows rows = tx.query("SELECT name, bit FROM skald_subscriber WHERE name = $1", name);
  if (rows.empty()) return std::nullopt;
  return Row{rows.get<std::string>(0, 0), rows.get<int>(0, 1)};
}

std::vector<std::string> types_of(Transaction& tx, std::string_view name) {
  const Rows rows =
      tx.query("SELECT type, is_prefix FROM skald_subscription WHERE subscriber = $1 ORDER BY type, is_prefix", name);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back(rows.get<std::string>(i, 0) + (rows.get<bool>(i, 1) ? "*" : ""));
  return out;
}

std::string owed_to(const Row& row) { return "(owed & " + std::to_string(row.mask()) + ") <> 0"; }
std::string index_of(const Row& row) { return "skald_outbox_owed_" + std::to_string(row.bit); }

void put(Transaction& tx, const Subscriber& subscriber) {
  check(subscriber);
  std::vector<std::string> wanted = subscriber.types;
  std::ranges::sort(wanted);
  auto row = find(tx, subscriber.name);
  if (row && types_of(tx, row->name) == wanted) return;
  // Whoever emits at this moment has committed before this, or finds the subscription.
  if (tx.on(Dialect::postgres)) tx.execute("LOCK TABLE skald_outbox IN SHARE ROW EXCLUSIVE MODE");
  row = find(tx, subscriber.name);
  const bool is_new = !row;
  if (is_new) {
    row = Row{subscriber.name, free_bit(tx)};
    add(tx, *row);
  }
  want(tx, *row, wanted);
  if (is_new && subscriber.from == Subscriber::From::beginning) owe_what_is_kept(tx, *row);
}

std::int64_t remove(Transaction& tx, std::string_view name) {
  if (tx.on(Dialect::postgres)) tx.execute("LOCK TABLE skald_outbox IN SHARE ROW EXCLUSIVE MODE");
  const auto row = find(tx, name);
  if (!row) throw NotFound("NO_SUCH_SUBSCRIBER", "there is no subscriber " + std::string(name));
  tx.execute("DELETE FROM skald_subscription WHERE subscriber = $1", name);
  tx.execute("DELETE FROM skald_subscriber WHERE name = $1", name);
  const std::string rule = "UPDATE skald_outbox SET " SKALD_SETTLED("") " WHERE $1 <> '' AND " + owed_to(*row);
  const std::int64_t owed = tx.execute(rule, name, row->mask());
  tx.execute("DROP INDEX " + index_of(*row));
  return owed;
}

std::map<int, LanePlace> places(Transaction& tx, std::string_view name) {
  const Rows rows = tx.query("SELECT partition, number, chain FROM skald_lane WHERE subscriber = $1", name);
  std::map<int, LanePlace> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[rows.get<int>(i, 0)] = {rows.get<std::int64_t>(i, 1), rows.get<std::string>(i, 2)};
  return out;
}

std::vector<Ready> ready(Transaction& tx, const Row& subscriber, std::span<const int> partitions) {
  if (tx.on(Dialect::postgres)) {
    const std::vector<std::int64_t> ids(partitions.begin(), partitions.end());
    return read_ready(tx.query("SELECT o.*, l.partition, l.number, l.chain FROM skald_lane l LEFT JOIN LATERAL " +
                                   letter_of(subscriber, "l.partition") +
                                   " o ON true WHERE l.subscriber = $1 AND l.partition = ANY($2) ORDER BY l.partition, "
                                   "o.seq",
                               subscriber.name, ids));
  }
  std::vector<Ready> out;
  const std::string letter = letter_of(subscriber, "$1");
  for (const int partition : partitions) {
    const Rows lane = tx.query("SELECT number, chain FROM skald_lane WHERE subscriber = $1 AND partition = $2",
                               subscriber.name, partition);
    if (lane.empty()) continue;
    out.push_back({partition,
                   {lane.get<std::int64_t>(0, 0), lane.get<std::string>(0, 1)},
                   entries_in(tx.query(std::string_view(letter).substr(1, letter.size() - 2), partition))});
  }
  return out;
}

bool is_at_rest(Transaction& tx, const Row& subscriber, int partition, const LanePlace& place) {
  const auto lanes = ready(tx, subscriber, std::span(&partition, 1));
  return !lanes.empty() && lanes.front().place == place && lanes.front().entries.empty();
}

void settle(Transaction& tx, const Row& subscriber, std::span<const Landed> landed) {
  if (landed.empty()) return;
  if (tx.on(Dialect::postgres)) return settle_postgres(tx, subscriber, landed);
  for (const Landed& one : landed) {
    const auto moved = tx.execute(
        "UPDATE skald_lane SET number = $3, chain = $5, at = $6 WHERE subscriber = $1 AND partition = $2 AND number = "
        "$3 - 1 AND chain = $4 AND " SKALD_STILL_ITS_BIT("$7"),
        subscriber.name, one.partition, one.number, one.former, next_chain(one.former, one.ids), tx.now(),
        subscriber.bit);
    if (moved == 0) continue;
    for (const std::string& id : one.ids)
      tx.execute("UPDATE skald_outbox SET " SKALD_SETTLED("") ", proof = proof || $1 || ' ' || $3 || ' ' || $4 || char(10), "
                 "updated_at = $4 WHERE id = $5 AND partition = $6 AND (owed & $2) <> 0",
                 subscriber.name, subscriber.mask(), one.number, tx.now(), id, one.partition);
  }
}

std::vector<Kept> kept(Transaction& tx, const Row& subscriber, int partition, std::string_view after, int limit) {
  const Rows rows = tx.query(
      "SELECT id, (COALESCE(owed, 0) & $1), created_at FROM skald_outbox WHERE partition = $2 AND id > $3 AND source = "
      "'' AND ((owed & $1) <> 0 OR replace($6 || proof, $4, '') <> $6 || proof) ORDER BY id LIMIT $5",
      subscriber.mask(), partition, after, "\n" + subscriber.name + " ", limit, "\n");
  std::vector<Kept> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({rows.get<std::string>(i, 0), rows.get<std::int64_t>(i, 1) != 0, rows.get<Time>(i, 2)});
  return out;
}

void owe(Transaction& tx, const Row& subscriber, std::span<const std::string> ids) {
  for (const std::string& id : ids)
    tx.enqueue(
        "UPDATE skald_outbox SET owed = COALESCE(owed, 0) | $2, status = CASE WHEN status = 3 THEN 0 ELSE status END, "
        "version = version + 1 WHERE id = $1",
        id, subscriber.mask());
}

void found(Transaction& tx, const Row& subscriber, std::span<const std::string> ids) {
  for (const std::string& id : ids)
    tx.enqueue("UPDATE skald_outbox SET " SKALD_SETTLED("") ", proof = proof || $3 WHERE id = $1 AND (owed & $2) <> 0",
               id, subscriber.mask(), subscriber.name + " 0 " + std::to_string(to_micros(tx.now())) + "\n");
}

bool move(Transaction& tx, const Row& subscriber, int partition, const LanePlace& from, const LanePlace& to) {
  return tx.execute(
             "UPDATE skald_lane SET number = $5, chain = $6 WHERE subscriber = $1 AND partition = $2 AND number = $3 "
             "AND chain = $4",
             subscriber.name, partition, from.number, from.chain, to.number, to.chain) == 1;
}

void give_to_relay(Transaction& tx, std::string_view id) {
  tx.execute("UPDATE skald_outbox SET live = 1, status = 0, owed = NULL, version = version + 1 WHERE id = $1", id);
}

}  // namespace skald::tables::subscriber
