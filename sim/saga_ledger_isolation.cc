// SagaLedger: whether sagas have corrupted each other's data, told twice: by the accounts
// themselves, and by the checker from the recorded history.
#include "sim/saga_ledger.h"
#include "skald/checker.h"
#include "store/tables/history.h"

namespace skald::sim {
namespace {

constexpr std::size_t kCommitsMax = 1'000'000;

std::vector<checker::Operation> recorded(Transaction& tx) {
  std::vector<checker::Operation> out;
  for (const auto& commit : tables::history::list(tx, 0, kCommitsMax)) {
    for (auto& operation : checker::read_history(commit.operations)) {
      operation.at = commit.seq;
      out.push_back(std::move(operation));
    }
  }
  return out;
}

// An account that is not what its transfers make of it, or empty.
std::string wrong_account(Transaction& tx) {
  const Rows wrong = tx.query(
      "SELECT a.id, a.balance FROM sim_account a WHERE a.balance <> $1 + (SELECT COALESCE(SUM(amount), 0) FROM "
      "sim_transfer WHERE credit = a.id) - (SELECT COALESCE(SUM(amount), 0) FROM sim_transfer WHERE debit = a.id)",
      kBalance);
  return wrong.empty() ? "" : wrong.get<std::string>(0, 0) + " has " + std::to_string(wrong.get<int>(0, 1));
}

std::optional<Marker> marker_of(checker::Anomaly anomaly) {
  switch (anomaly) {
    case checker::Anomaly::dirty_read: return Marker::dirty_read_named;
    case checker::Anomaly::lost_update: return Marker::lost_update_named;
    case checker::Anomaly::non_repeatable_read: return Marker::non_repeatable_read_named;
    case checker::Anomaly::dirty_undo: return Marker::dirty_undo_named;
    default: return std::nullopt;
  }
}

}  // namespace

void SagaLedger::check_isolation(Transaction& tx) const {
  const std::string wrong = wrong_account(tx);
  const auto findings = checker::check(recorded(tx));
  if (stage_.plan.locked()) {
    if (!findings.empty()) broken("I8", "the checker says: " + findings.front().explanation);
    if (!wrong.empty()) broken("I8", "account " + wrong + ", which is not what its transfers make of it");
    return;
  }
  for (const auto& finding : findings)
    if (const auto marker = marker_of(finding.anomaly)) stage_.markers.hit(*marker);
  if (wrong.empty()) return;
  stage_.markers.hit(Marker::money_lost);
  if (findings.empty()) broken("I8", "account " + wrong + ", and the checker finds nothing");
}

}  // namespace skald::sim
