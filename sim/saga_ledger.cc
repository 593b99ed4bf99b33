#include "sim/saga_ledger.h"

namespace skald::sim {
namespace {

std::vector<std::string> ids_of(Stage& stage, std::string_view sql) {
  std::vector<std::string> out;
  stage.look([&](Transaction& tx) {
    const Rows rows = tx.query(sql);
    for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<std::string>(i, 0));
  });
  return out;
}

}  // namespace

void SagaLedger::observe(std::string_view name) {
  if (name == "beat" || name == "share out partitions" || name == "claim") return;
  if (name == "result of a call") stage_.markers.hit(Marker::saga_result_alone);
  if (name == "release sagas") stage_.markers.hit(Marker::saga_adrift_released);
  stage_.look([&](Transaction& tx) {
    check_stock(tx);
    check_waits(tx);
    locks_.observe(tx);
    history_.observe(tx);
  });
}

void SagaLedger::check_stock(Transaction& tx) const {
  const Rows wrong = tx.query(
      "SELECT s.sku, s.quantity, s.reserved, s.sold FROM sim_stock s WHERE s.quantity < 0 OR s.reserved < 0 OR "
      "s.quantity + s.reserved + s.sold <> $1 OR s.reserved <> (SELECT COALESCE(SUM(n), 0) FROM sim_reservation r "
      "WHERE r.sku = s.sku)",
      kStockPerProduct);
  if (!wrong.empty())
    broken("I8", wrong.get<std::string>(0, 0) + " has " + std::to_string(wrong.get<int>(0, 1)) + " free, " +
                     std::to_string(wrong.get<int>(0, 2)) + " reserved, " + std::to_string(wrong.get<int>(0, 3)) +
                     " sold");
  const Rows orphan = tx.query(
      "SELECT r.saga FROM sim_reservation r LEFT JOIN skald_saga s ON s.id = r.saga WHERE s.id IS NULL OR s.live = 0");
  if (!orphan.empty()) broken("I6", "a reservation has outlived its saga " + orphan.get<std::string>(0, 0));
  // Its first two steps share one transaction where neither a lock nor a shortage can come between them; so do their undos.
  const Rows half = tx.query(
      "SELECT o.saga FROM sim_order o WHERE o.waits = 0 AND (o.status = 'PENDING') <> EXISTS (SELECT 1 FROM "
      "sim_reservation r WHERE r.saga = o.saga)");
  if (!half.empty()) broken("I4", "half of what order " + half.get<std::string>(0, 0) + " does at once can be seen");
}

void SagaLedger::check_waits(Transaction& tx) const {
  const Rows forgotten = tx.query(
      "SELECT s.id || ' ' || s.type FROM skald_saga s WHERE s.live = 1 AND s.owner IS NULL AND s.wake_at IS NULL AND "
      "s.status <> 'NEEDS_HELP' AND NOT EXISTS (SELECT 1 FROM skald_saga c WHERE c.parent = s.id AND c.live = 1)");
  if (!forgotten.empty()) broken("I5", "nobody will ever go on with saga " + forgotten.get<std::string>(0, 0));
  const Rows blamed = tx.query(
      "SELECT id || ' ' || type FROM skald_saga WHERE error_code = 'CRASHED' AND state NOT LIKE '%\"kills\":true%'");
  if (!blamed.empty())
    broken("I5",
           "saga " + blamed.get<std::string>(0, 0) + " is blamed for deaths of its workers that it did not cause");
  const Rows twice = tx.query(
      "SELECT type || ' ' || key FROM skald_saga WHERE live = 1 AND key <> '' AND parent = '' GROUP BY type, key "
      "HAVING COUNT(*) > 1");
  if (!twice.empty()) broken("I7", "two live sagas have the business key " + twice.get<std::string>(0, 0));
}

std::string SagaLedger::unfinished() {
  std::string out;
  for (const auto& id : ids_of(stage_,
                               "SELECT id || ' ' || type || ' ' || status || ' owner ' || COALESCE(owner, 'nobody') || "
                               "' wakes ' || COALESCE(wake_at, 'never') FROM skald_saga s WHERE live = 1 AND status "
                               "<> 'NEEDS_HELP' AND NOT EXISTS (SELECT 1 FROM skald_saga c WHERE c.parent = s.id AND "
                               "c.status = 'NEEDS_HELP') LIMIT 3"))
    out += " " + id;
  return out;
}

std::vector<std::string> SagaLedger::parked() {
  for (const auto& code : ids_of(stage_, "SELECT error_code FROM skald_saga WHERE status = 'NEEDS_HELP'")) {
    if (code == "CRASHED") stage_.markers.hit(Marker::saga_crashed);
    if (code == "STUCK") stage_.markers.hit(Marker::saga_undo_stuck);
  }
  return ids_of(stage_, "SELECT id FROM skald_saga WHERE status = 'NEEDS_HELP'");
}
std::vector<std::string> SagaLedger::live(std::string_view type) {
  return ids_of(stage_, "SELECT id FROM skald_saga WHERE live = 1 AND type = '" + std::string(type) + "'");
}

}  // namespace skald::sim
