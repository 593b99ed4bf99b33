#include "store/tables/inbox.h"

namespace skald::tables::inbox {

bool record(Transaction& tx, std::string_view consumer, std::string_view event_id) {
  return !tx.query(
                "INSERT INTO skald_inbox (consumer, event_id, at) VALUES ($1, $2, $3) ON CONFLICT (event_id, consumer) "
                "DO NOTHING RETURNING event_id",
                consumer, event_id, tx.now())
              .empty();
}

void record_new(Transaction& tx, std::span<const std::string> consumers, std::span<const std::string> event_ids) {
  if (event_ids.empty()) return;
  if (tx.on(Dialect::postgres)) {
    tx.enqueue(
        "INSERT INTO skald_inbox (consumer, event_id, at) SELECT c, e, (extract(epoch FROM clock_timestamp()) * "
        "1000000)::bigint FROM unnest($1::text[], $2::text[]) AS n(c, e)",
        consumers, event_ids);
    return;
  }
  for (std::size_t i = 0; i < event_ids.size(); ++i)
    tx.execute("INSERT INTO skald_inbox (consumer, event_id, at) VALUES ($1, $2, $3)", consumers[i], event_ids[i],
               tx.now());
}

std::vector<Handled> of(Transaction& tx, std::string_view event_id) {
  const Rows rows =
      tx.query("SELECT consumer, at FROM skald_inbox WHERE event_id = $1 ORDER BY at, consumer", event_id);
  std::vector<Handled> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({rows.get<std::string>(i, 0), from_micros(rows.get<std::int64_t>(i, 1))});
  return out;
}

}  // namespace skald::tables::inbox
