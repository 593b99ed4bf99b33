#include "store/tables/definition.h"

#include "base/hash.h"

namespace skald::tables::definition {

void enter(Transaction& tx) {
  if (tx.on(Dialect::sqlite)) return;  // every writer is alone
  tx.execute("SELECT pg_advisory_xact_lock($1)", static_cast<std::int64_t>(hash64("skald-definition")));
}

std::optional<std::string> shape(Transaction& tx, std::string_view type, int version) {
  const Rows rows = tx.query("SELECT shape FROM skald_definition WHERE type = $1 AND version = $2", type, version);
  if (rows.empty()) return std::nullopt;
  return rows.get<std::string>(0, 0);
}

void put(Transaction& tx, std::string_view type, int version, std::string_view shape) {
  tx.enqueue(
      "INSERT INTO skald_definition (type, version, shape, since) VALUES ($1, $2, $3, $4) ON CONFLICT (type, version) "
      "DO UPDATE SET shape = excluded.shape, since = excluded.since",
      type, version, shape, tx.now());
}

}  // namespace skald::tables::definition
