// skald_barrier: one row per (saga, step), written by whichever of action and undo
// comes first, in its own transaction; the other waits for that one's end.
#include "env/seam.h"
#include "skald/isolation.h"

namespace skald {

Passage pass_barrier(Transaction& tx, std::string_view saga_id, std::string_view step, Side side) {
  const bool action = side == Side::action;
  const Rows rows = tx.query(
      action ? "INSERT INTO skald_barrier (saga_id, step, actions, undos, undo_first, at) VALUES ($1, $2, 1, 0, 0, $3) "
               "ON CONFLICT (saga_id, step) DO UPDATE SET actions = skald_barrier.actions + 1 RETURNING actions, "
               "undo_first"
             : "INSERT INTO skald_barrier (saga_id, step, actions, undos, undo_first, at) VALUES ($1, $2, 0, 1, 1, $3) "
               "ON CONFLICT (saga_id, step) DO UPDATE SET undos = skald_barrier.undos + 1 RETURNING undos, undo_first",
      saga_id, step, tx.now());
  if (rows.get<bool>(0, 1) && seam::holds(seam::Rule::late_action_kept_out)) return Passage::overtaken;
  if (rows.get<std::int64_t>(0, 0) > 1 && seam::holds(seam::Rule::repetition_known)) return Passage::repeated;
  return Passage::first;
}

std::int64_t forget_barriers(Transaction& tx, Time before, int most) {
  return tx.execute(
      "DELETE FROM skald_barrier WHERE (saga_id, step) IN (SELECT saga_id, step FROM skald_barrier WHERE at < $1 LIMIT "
      "$2)",
      before, most);
}

}  // namespace skald
