#include "store/tables/history.h"

namespace skald::tables::history {

void append(Transaction& tx, std::string_view saga_id, std::string_view operations) {
  tx.enqueue("INSERT INTO skald_history (saga_id, at, operations) VALUES ($1, $2, $3)", saga_id, tx.now(), operations);
}

std::vector<Row> list(Transaction& tx, std::int64_t after, std::size_t limit) {
  const Rows rows =
      tx.query("SELECT seq, operations FROM skald_history WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit);
  std::vector<Row> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({rows.get<std::int64_t>(i, 0), rows.get<std::string>(i, 1)});
  return out;
}

std::int64_t forget(Transaction& tx, Time limit, int most) {
  return tx.execute(
      "DELETE FROM skald_history WHERE seq IN (SELECT seq FROM skald_history WHERE at < $1 ORDER BY seq LIMIT $2)",
      limit, most);
}

}  // namespace skald::tables::history
