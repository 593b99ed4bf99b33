#include "store/tables/subscriber_views.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "store/tables/subscriber.h"

namespace skald::tables::subscriber {
namespace {

// SQLite is told which index to use. PostgreSQL is asked for rows of one partition in the order of the index, so that it can
// stop at the bound: without an order it may walk the table where it thinks that much of it is owed.
std::string owed_in(Transaction& tx, const Row& row) {
  return tx.on(Dialect::sqlite) ? "skald_outbox INDEXED BY " + index_of(row) : "skald_outbox";
}

std::string owed_of_lane(Transaction& tx, const Row& row, const std::string& column, int most) {
  return "SELECT " + column + " FROM " + owed_in(tx, row) + " WHERE partition = l.partition AND " + owed_to(row) +
         " ORDER BY seq LIMIT " + std::to_string(most);
}

std::int64_t count_owed(Transaction& tx, const Row& row, int most) {
  const std::string up_to = " LIMIT " + std::to_string(most);
  const std::string found = tx.on(Dialect::sqlite)
                                ? "SELECT 1 FROM " + owed_in(tx, row) + " WHERE $1 <> '' AND " + owed_to(row) + up_to
                                : "SELECT 1 FROM skald_lane l CROSS JOIN LATERAL (" + owed_of_lane(tx, row, "1", most) +
                                      ") o WHERE l.subscriber = $1" + up_to;
  return tx.query("SELECT COUNT(*) FROM (" + found + ") counted", row.name).get<std::int64_t>(0, 0);
}

std::optional<Time> unless_zero(std::int64_t micros) {
  return micros == 0 ? std::nullopt : std::optional(from_micros(micros));
}

SubscriberView view_of(Transaction& tx, const Row& row) {
  const Rows about =
      tx.query("SELECT s.since, (SELECT MAX(at) FROM skald_lane WHERE subscriber = s.name), (SELECT MIN((" +
                   owed_of_lane(tx, row, "created_at", 1) +
                   ")) FROM skald_lane l WHERE l.subscriber = s.name) FROM skald_subscriber s WHERE "
                   "s.name = $1",
               row.name);
  const std::int64_t owed = count_owed(tx, row, kCountedMax + 1);
  SubscriberView out;
  out.name = row.name;
  out.types = types_of(tx, row.name);
  out.owed = std::min<std::int64_t>(owed, kCountedMax);
  out.at_least = owed > kCountedMax;
  out.oldest = about.get<std::optional<Time>>(0, 2);
  out.last_confirmed_at = unless_zero(about.get<std::int64_t>(0, 1));
  out.since = about.get<Time>(0, 0);
  return out;
}

std::vector<LaneView> lanes_of(Transaction& tx, const Row& row) {
  const Rows rows = tx.query("SELECT l.partition, l.number, l.at, (SELECT COUNT(*) FROM (" +
                                 owed_of_lane(tx, row, "1", kCountedInLaneMax + 1) + ") counted), (" +
                                 owed_of_lane(tx, row, "created_at", 1) +
                                 ") FROM skald_lane l WHERE l.subscriber = $1 ORDER BY l.partition",
                             row.name);
  std::vector<LaneView> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto last = rows.get<std::int64_t>(i, 1), owed = rows.get<std::int64_t>(i, 3);
    if (last == 0 && owed == 0) continue;
    out.push_back({.partition = rows.get<int>(i, 0),
                   .last = last,
                   .last_confirmed_at = unless_zero(rows.get<std::int64_t>(i, 2)),
                   .owed = std::min<std::int64_t>(owed, kCountedInLaneMax),
                   .at_least = owed > kCountedInLaneMax,
                   .oldest = rows.get<std::optional<Time>>(i, 4)});
  }
  return out;
}

// Takes what stands before `end` off the front.
std::string_view take(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view out = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return out;
}

std::int64_t number_in(std::string_view text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace

std::vector<SubscriberView> views(Transaction& tx) {
  std::vector<SubscriberView> out;
  for (const Row& row : all(tx)) out.push_back(view_of(tx, row));
  return out;
}

std::optional<SubscriberDetail> detail(Transaction& tx, std::string_view name) {
  const auto row = find(tx, name);
  if (!row) return std::nullopt;
  return SubscriberDetail{view_of(tx, *row), lanes_of(tx, *row)};
}

// A subscriber that was sent it again has several lines: the last one counts.
std::vector<Delivery> deliveries(Transaction& tx, const Entry& entry) {
  std::map<std::string, Delivery> found;
  for (std::string_view rest = entry.proof; !rest.empty();) {
    std::string_view line = take(rest, '\n');
    const std::string name(take(line, ' '));
    const std::int64_t letter = number_in(take(line, ' '));
    found[name] = {name, false, from_micros(number_in(line)), letter};
  }
  if (entry.owed != 0) {
    for (const Row& row : all(tx)) {
      if ((entry.owed & row.mask()) == 0) continue;
      Delivery& one = found[row.name];
      one.subscriber = row.name;
      one.is_owed = true;
    }
  }
  std::vector<Delivery> out;
  for (auto& [name, one] : found) out.push_back(std::move(one));
  return out;
}

std::string told(const Delivery& delivery) {
  if (!delivery.is_owed) return delivery.subscriber + " has it";
  return "owed to " + delivery.subscriber + (delivery.since ? " again" : "");
}

std::string proof_of(const Delivery& delivery, int partition) {
  if (!delivery.since) return "";
  return (delivery.is_owed ? "it had it since " : "since ") + format_time(*delivery.since) + ", " +
         (delivery.letter == 0
              ? "found there when what both have was compared"
              : "letter " + std::to_string(delivery.letter) + " of partition " + std::to_string(partition));
}

}  // namespace skald::tables::subscriber
