#include "store/tables/job.h"

namespace skald::tables::job {

bool is_due(Transaction& tx, Time due, Duration every) { return due <= tx.now() || due > tx.now() + 2 * every; }

bool take(Transaction& tx, std::string_view name, Duration every, Duration again) {
  return !tx.query(
                "INSERT INTO skald_job (name, due_at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET due_at = "
                "excluded.due_at "
                "WHERE skald_job.due_at <= $3 OR skald_job.due_at > $4 RETURNING name",
                name, tx.now() + again, tx.now(), tx.now() + 2 * every)
              .empty();
}

void set_due(Transaction& tx, std::string_view name, Duration in) {
  tx.execute("UPDATE skald_job SET due_at = $2 WHERE name = $1", name, tx.now() + in);
}

Time due_at(Transaction& tx, std::string_view name) {
  const Rows rows = tx.query("SELECT due_at FROM skald_job WHERE name = $1", name);
  return rows.empty() ? Time{} : rows.get<Time>(0, 0);
}

}  // namespace skald::tables::job
