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

void SagaLedger::observe() {
  stage_.look([&](Transaction& tx) {
    check_stock(tx);
    check_locks(tx);
  });
}

void SagaLedger::check_stock(Transaction& tx) {
  const Rows wrong = tx.query(
      "SELECT s.sku, s.quantity, s.reserved, s.sold FROM sim_stock s WHERE s.quantity < 0 OR s.reserved < 0 OR "
      "s.quantity "
      "+ s.reserved + s.sold <> $1 OR s.reserved <> (SELECT COALESCE(SUM(n), 0) FROM sim_reservation r WHERE r.sku = "
      "s.sku)",
      kStockPerProduct);
  if (!wrong.empty())
    broken("I8", wrong.get<std::string>(0, 0) + " has " + wrong.get<std::string>(0, 1) + " free, " +
                     wrong.get<std::string>(0, 2) + " reserved, " + wrong.get<std::string>(0, 3) + " sold");
  const Rows orphan = tx.query(
      "SELECT r.saga FROM sim_reservation r LEFT JOIN skald_saga s ON s.id = r.saga WHERE s.id IS NULL OR s.live = 0");
  if (!orphan.empty()) broken("I6", "a reservation has outlived its saga " + orphan.get<std::string>(0, 0));
}

void SagaLedger::check_locks(Transaction& tx) {
  const Rows orphan = tx.query(
      "SELECT l.root FROM skald_lock l LEFT JOIN skald_saga s ON s.id = l.root WHERE s.id IS NULL OR s.live = 0");
  if (!orphan.empty()) broken("I6", "a lock has outlived its saga " + orphan.get<std::string>(0, 0));
  const Rows crowded = tx.query(
      "SELECT a.resource, a.key, a.root, b.root FROM skald_lock a JOIN skald_lock b ON a.resource = b.resource AND "
      "a.key = "
      "b.key AND a.root < b.root WHERE a.granted = 1 AND b.granted = 1 AND (a.mode = 'exclusive' OR b.mode = "
      "'exclusive')");
  if (!crowded.empty())
    broken("I6", crowded.get<std::string>(0, 0) + " " + crowded.get<std::string>(0, 1) + " is held by two at once");
}

void SagaLedger::check_money(Transaction& tx) {
  const Rows wrong = tx.query(
      "SELECT a.id, a.balance FROM sim_account a WHERE a.balance <> $1 + (SELECT COALESCE(SUM(amount), 0) FROM "
      "sim_transfer "
      "WHERE credit = a.id) - (SELECT COALESCE(SUM(amount), 0) FROM sim_transfer WHERE debit = a.id)",
      kBalance);
  if (!wrong.empty())
    broken("I8", "account " + wrong.get<std::string>(0, 0) + " has " + wrong.get<std::string>(0, 1) +
                     ", which is not what its transfers make of it");
}

void SagaLedger::check_effects(Transaction& tx) {
  const Rows rows = tx.query("SELECT id, type, status FROM skald_saga");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto id = rows.get<std::string>(i, 0), type = rows.get<std::string>(i, 1),
               status = rows.get<std::string>(i, 2);
    if (type != "sim.order" && type != "sim.trip") continue;
    const int effects = provider_.effects_of(id);
    const int wanted = status == "COMPLETED" ? 1 : 0;
    if (effects != wanted)
      broken("I4", type + " " + id + " is " + status + " and has " + std::to_string(effects) + " effects outside");
    if (type == "sim.order") {
      const Rows order = tx.query("SELECT status FROM sim_order WHERE saga = $1", id);
      const auto known = order.empty() ? std::string("FAILED") : order.get<std::string>(0, 0);
      if (known != (status == "COMPLETED" ? "CONFIRMED" : "FAILED"))
        broken("I5", "order " + id + " is " + known + ", its saga " + status);
    }
  }
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
  return ids_of(stage_, "SELECT id FROM skald_saga WHERE status = 'NEEDS_HELP'");
}
std::vector<std::string> SagaLedger::awaiting() {
  return ids_of(stage_, "SELECT id FROM skald_saga WHERE live = 1 AND type = 'sim.trip' AND status = 'WAITING'");
}

void SagaLedger::check_end() {
  for (const std::string& id : told_)
    if (ids_of(stage_, "SELECT id FROM skald_saga WHERE id = '" + id + "'").empty())
      broken("I9", "a client was told of saga " + id + ", which is gone");
  stage_.look([&](Transaction& tx) {
    check_money(tx);
    check_effects(tx);
    const Rows left = tx.query("SELECT COUNT(*) FROM skald_lock");
    if (left.get<int>(0, 0) != 0) broken("I6", "locks are left though every saga has ended");
    const Rows inside = tx.query("SELECT key FROM sim_touch WHERE inside <> ''");
    if (!inside.empty()) broken("I6", inside.get<std::string>(0, 0) + " was never left");
  });
}

}  // namespace skald::sim
