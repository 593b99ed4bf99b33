// What is asked of the outbox beside its delivery: single entries, lists, the backlog.
#include <algorithm>

#include "store/tables/outbox.h"
#include "store/tables/outbox_columns.h"

namespace skald::tables::outbox {

std::optional<Entry> find(Transaction& tx, std::string_view id) {
  const Rows rows = tx.query("SELECT " SKALD_ENTRY_COLUMNS " FROM skald_outbox WHERE id = $1", id);
  if (rows.empty()) return std::nullopt;
  return entry_at(rows, 0);
}

std::vector<Entry> find_all(Transaction& tx, std::span<const std::string> ids) {
  if (tx.on(Dialect::postgres))
    return entries_in(
        tx.query("SELECT " SKALD_ENTRY_COLUMNS " FROM skald_outbox WHERE id = ANY($1) ORDER BY seq", ids));
  std::vector<Entry> out;
  for (const std::string& id : ids)
    if (auto entry = find(tx, id)) out.push_back(std::move(*entry));
  std::ranges::sort(out, {}, &Entry::seq);
  return out;
}

std::vector<Entry> list(Transaction& tx, const Filter& filter) {
  const std::optional<int> status = filter.status ? std::optional(static_cast<int>(*filter.status)) : std::nullopt;
  const Rows rows =
      tx.query("SELECT " SKALD_ENTRY_COLUMNS
               " FROM skald_outbox WHERE (CAST($1 AS BIGINT) IS NULL OR status = $1) "
               "AND (CAST($2 AS VARCHAR(200)) IS NULL OR type = $2) AND (CAST($3 AS VARCHAR(200)) IS NULL OR key = $3) "
               "AND (CAST($4 AS VARCHAR(200)) IS NULL OR id < $4) ORDER BY id DESC LIMIT $5",
               status, filter.type, filter.key, filter.after, filter.limit);
  return entries_in(rows);
}

std::vector<Entry> about(Transaction& tx, std::string_view subject, std::size_t limit) {
  const Rows rows = tx.query("SELECT " SKALD_ENTRY_COLUMNS
                             " FROM skald_outbox WHERE subject = $1 AND subject <> '' ORDER BY seq DESC LIMIT $2",
                             subject, limit);
  return entries_in(rows);
}

Backlog backlog(Transaction& tx) {
  const Rows rows = tx.query(
      "SELECT partition, COUNT(*), MIN(next_retry_at), MIN(created_at) FROM skald_outbox WHERE live = 1 GROUP BY "
      "partition");
  Backlog out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Time due = rows.get<Time>(i, 2), oldest = rows.get<Time>(i, 3);
    out.live += rows.get<std::int64_t>(i, 1);
    if (!out.oldest || oldest < *out.oldest) out.oldest = oldest;
    if (due <= tx.now()) out.due |= std::uint64_t{1} << rows.get<int>(i, 0);
    else if (!out.next_due || due < *out.next_due) out.next_due = due;
  }
  return out;
}

}  // namespace skald::tables::outbox
