#include "donation/invariants.h"

#include "donation/reconciliation.h"

namespace donation {
namespace {

using skald::Checklist;
using skald::Invariants;
using skald::Transaction;

constexpr skald::Duration kStalledAfter = std::chrono::minutes(5);

}  // namespace

Invariants check_invariants(skald::Engine& engine, Transaction& tx) {
  Report report;
  for (Position at; at.stage != Stage::end;) at = reconcile_page(engine, tx, at, {}, report);
  static const std::string shared = "SELECT COUNT(*) FROM (SELECT 1 FROM donation GROUP BY " + std::string(kAskedAs) +
                                    ", " + std::string(kWhose) + " HAVING COUNT(*) > 1) t";
  const auto repeated = tx.query(shared).get<std::int64_t>(0, 0);
  const auto stalled =
      tx.query("SELECT COUNT(*) FROM skald_outbox WHERE live = 1 AND status = $1 AND type = $2 AND locked_at < $3",
               static_cast<int>(skald::EntryStatus::PROCESSING), kAccepted, tx.now() - kStalledAfter)
          .get<std::int64_t>(0, 0);
  Checklist list;
  list.none("request-ids-unique", repeated, "requestIds that one owner has for several donations");
  list.none("one-entry-per-donation", report.count_of(Kind::MISSING_ENTRY) + report.count_of(Kind::ORPHAN_ENTRY),
            "donations without an entry, or entries without their donation, of " + std::to_string(report.donations) +
                " donations");
  list.none("status-agrees", report.count_of(Kind::STATUS_DISAGREES), "donations whose status is not their entry's");
  list.none("content-agrees", report.count_of(Kind::CONTENT_DISAGREES),
            "entries that do not say what was donated, or have another hash");
  list.none("ends-explained", report.count_of(Kind::UNEXPLAINED_END), "DEAD_LETTER entries without a dead letter");
  list.none("nothing-stalled", stalled, "entries in PROCESSING for more than 5 minutes");
  return list.take();
}

void add_invariants(skald::Engine& engine, skald::Router& router) {
  router.get("/donation/invariants", skald::Access::admin,
             skald::describe<void, Invariants>("What must hold of donations, checked now"),
             [&engine](const skald::Request&) {
               return engine.database().read_result(
                   [&](Transaction& tx) { return skald::Response::json(200, check_invariants(engine, tx)); });
             });
}

}  // namespace donation
