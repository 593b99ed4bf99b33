// SagaLedger: what must have come true when every saga has ended.
#include <boost/json.hpp>

#include "sim/saga_ledger.h"

namespace skald::sim {

void SagaLedger::check_effects(Transaction& tx) const {
  const Rows rows = tx.query(
      "SELECT s.id, s.type, s.status, (SELECT COUNT(*) FROM sim_charge c WHERE c.saga = s.id AND c.stands = 1), "
      "COALESCE((SELECT o.status FROM sim_order o WHERE o.saga = s.id), 'FAILED') FROM skald_saga s WHERE s.type IN "
      "('sim.order', 'sim.trip')");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto id = rows.get<std::string>(i, 0), type = rows.get<std::string>(i, 1),
               status = rows.get<std::string>(i, 2), order = rows.get<std::string>(i, 4);
    const bool completed = status == "COMPLETED";
    if (rows.get<int>(i, 3) != (completed ? 1 : 0))
      broken("I4", type + " " + id + " is " + status + " and has " + std::to_string(rows.get<int>(i, 3)) +
                       " effects outside");
    if (type == "sim.order" && order != (completed ? "CONFIRMED" : "FAILED"))
      broken("I5", "order " + id + " is " + order + ", its saga " + status);
  }
}

void SagaLedger::check_errors(Transaction& tx) const {
  const Rows own = tx.query(
      "SELECT id, error_message FROM skald_saga WHERE error_code = 'BUSY' AND error_message LIKE '% held by saga ' || "
      "root || ' %'");
  if (!own.empty())
    broken("I6", "saga " + own.get<std::string>(0, 0) + " was kept out by itself: " + own.get<std::string>(0, 1));
  const Rows codes = tx.query("SELECT error_code, COUNT(*) FROM skald_saga WHERE status = 'COMPENSATED' GROUP BY 1");
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes.get<std::string>(i, 0) == "DEADLINE") stage_.markers.hit(Marker::saga_deadline);
    if (codes.get<std::string>(i, 0) == "TIMED_OUT") stage_.markers.hit(Marker::saga_timed_out);
  }
}

// What a trip has heard was sent, counts once, and all that came in time was heard.
void SagaLedger::check_signals(Transaction& tx) const {
  const Rows rows = tx.query("SELECT id, error_code, state FROM skald_saga WHERE type = 'sim.trip'");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto id = rows.get<std::string>(i, 0);
    const auto state = json::parse(rows.get<std::string>(i, 2));
    const auto& heard = state.at("heard").as_array();
    std::set<std::string> different;
    for (const auto& payload : heard) different.emplace(payload.as_string());
    if (different.size() != heard.size()) broken("I7", "trip " + id + " has heard a signal twice");
    const auto sent = signals_.find(id);
    if (rows.get<std::string>(i, 1) == "TIMED_OUT" && sent != signals_.end() && sent->second.size() > heard.size())
      broken("I9", "trip " + id + " gave up waiting for a signal that a client had sent in time");
  }
}

// An order of a trip stands with it, or is undone by it.
void SagaLedger::check_children(Transaction& tx) const {
  const Rows rows = tx.query(
      "SELECT p.id, p.status, c.status, (SELECT COUNT(*) FROM sim_did d WHERE d.saga = p.id AND d.step = 'order' AND "
      "d.undo = 1) FROM skald_saga p JOIN skald_saga c ON c.parent = p.id");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool trip = rows.get<std::string>(i, 1) == "COMPLETED", order = rows.get<std::string>(i, 2) == "COMPLETED";
    const int undone = rows.get<int>(i, 3);
    stage_.markers.hit(order ? undone > 0 ? Marker::saga_child_undone : Marker::saga_child_completed
                             : Marker::saga_child_refused);
    if (undone != (order && !trip ? 1 : 0))
      broken("I4", "trip " + rows.get<std::string>(i, 0) + " is " + rows.get<std::string>(i, 1) + ", its order " +
                       rows.get<std::string>(i, 2) + " and was undone " + std::to_string(undone) + " times");
  }
}

void SagaLedger::check_end() {
  stage_.look([&](Transaction& tx) {
    for (const std::string& id : told_)
      if (tx.query("SELECT id FROM skald_saga WHERE id = $1", id).empty())
        broken("I9", "a client was told of saga " + id + ", which is gone");
    check_isolation(tx);
    check_effects(tx);
    check_errors(tx);
    check_signals(tx);
    check_children(tx);
    history_.check_end(tx);
    const Rows left = tx.query("SELECT COUNT(*) FROM skald_lock");
    if (left.get<int>(0, 0) != 0) broken("I6", "locks are left though every saga has ended");
    const Rows inside = tx.query("SELECT key FROM sim_touch WHERE inside <> ''");
    if (!inside.empty()) broken("I6", inside.get<std::string>(0, 0) + " was never left");
  });
}

}  // namespace skald::sim
