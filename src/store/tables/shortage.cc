#include "store/tables/shortage.h"

namespace skald::tables::shortage {

void enter(Transaction& tx, std::string_view saga_id, std::string_view resource, std::string_view key) {
  tx.enqueue(
      "INSERT INTO skald_shortage (saga_id, resource, key, since, freed) VALUES ($1, $2, $3, $4, 0) ON CONFLICT "
      "(saga_id) DO UPDATE SET resource = excluded.resource, key = excluded.key, since = excluded.since, freed = 0",
      saga_id, resource, key, tx.now());
}

std::int64_t freed(Transaction& tx, std::string_view saga_id) {
  constexpr std::string_view sqlite = "SELECT freed FROM skald_shortage WHERE saga_id = $1";
  constexpr std::string_view postgres = "SELECT freed FROM skald_shortage WHERE saga_id = $1 FOR UPDATE";
  const Rows found = tx.query(tx.on(Dialect::postgres) ? postgres : sqlite, saga_id);
  return found.empty() ? 0 : found.get<std::int64_t>(0, 0);
}

void leave(Transaction& tx, std::string_view saga_id) {
  tx.enqueue("DELETE FROM skald_shortage WHERE saga_id = $1", saga_id);
}

std::vector<std::string> mark_freed(Transaction& tx, std::string_view resource, std::string_view key, int most) {
  const Rows marked = tx.query(
      "UPDATE skald_shortage SET freed = freed + 1 WHERE saga_id IN (SELECT saga_id FROM skald_shortage WHERE resource "
      "= $1 AND key = $2 ORDER BY since, saga_id LIMIT $3) RETURNING saga_id",
      resource, key, most);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < marked.size(); ++i) ids.push_back(marked.get<std::string>(i, 0));
  return ids;
}

}  // namespace skald::tables::shortage
