#include "store/tables/job.h"

namespace skald::tables::job {

bool take(Transaction& tx, std::string_view name, Duration every) {
  return !tx.query(
                "INSERT INTO skald_job (name, due_at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET due_at = "
                "excluded.due_at "
                "WHERE skald_job.due_at <= $3 RETURNING name",
                name, tx.now() + every, tx.now())
              .empty();
}

Time due_at(Transaction& tx, std::string_view name) {
  const Rows rows = tx.query("SELECT due_at FROM skald_job WHERE name = $1", name);
  return rows.empty() ? Time{} : rows.get<Time>(0, 0);
}

}  // namespace skald::tables::job
