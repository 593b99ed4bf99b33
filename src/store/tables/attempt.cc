#include "store/tables/attempt.h"

namespace skald::tables::attempt {

void insert(Transaction& tx, std::string_view event_id, const Attempt& a) {
  tx.enqueue(
      "INSERT INTO skald_attempt (event_id, attempt, at, worker, outcome, took, error) VALUES ($1, $2, $3, $4, $5, $6, "
      "$7) "
      "ON CONFLICT (event_id, attempt, at) DO NOTHING",
      event_id, a.attempt, a.at, a.worker, a.outcome, a.took.count(), a.error);
}

std::vector<Attempt> of(Transaction& tx, std::string_view event_id) {
  const Rows rows = tx.query(
      "SELECT attempt, at, worker, outcome, took, error FROM skald_attempt WHERE event_id = $1 ORDER BY at, attempt "
      "LIMIT 200",
      event_id);
  std::vector<Attempt> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({rows.get<int>(i, 0), rows.get<Time>(i, 1), rows.get<std::string>(i, 2), rows.get<std::string>(i, 3),
                   Duration(rows.get<std::int64_t>(i, 4)), rows.get<std::string>(i, 5)});
  return out;
}

}  // namespace skald::tables::attempt
