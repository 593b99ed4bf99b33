#include "store/tables/signal.h"

#include "env/seam.h"

namespace skald::tables::signal {

bool insert(Transaction& tx, std::string_view id, std::string_view saga_id, std::string_view name,
            std::string_view payload) {
  return tx.execute(
             "INSERT INTO skald_signal (id, saga_id, name, payload, sent_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT "
             "(saga_id, id) DO NOTHING",
             id, saga_id, name, payload, tx.now()) == 1;
}

std::optional<std::string> take(Transaction& tx, std::string_view saga_id, std::string_view name) {
  const int taken = seam::holds(seam::Rule::signal_taken_once) ? 1 : 0;
  const Rows found = tx.query(
      "UPDATE skald_signal SET taken = $3 WHERE saga_id = $1 AND id = (SELECT id FROM skald_signal WHERE saga_id = $1 "
      "AND name = $2 AND taken = 0 ORDER BY sent_at, id LIMIT 1) RETURNING payload",
      saga_id, name, taken);
  if (found.empty()) return std::nullopt;
  return found.get<std::string>(0, 0);
}

void forget(Transaction& tx, std::string_view saga_id) {
  tx.enqueue("DELETE FROM skald_signal WHERE saga_id = $1", saga_id);
}

}  // namespace skald::tables::signal
