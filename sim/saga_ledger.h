// What must hold while sagas run, and what must have come true in the end:
//   I4 each remote step has its effect once, or is cancelled
//   I5 every saga ends, or is parked in sight
//   I6 an ended saga holds no lock and no reservation; nobody shares an exclusive lock
//   I8 stock and money are conserved
//   I9 what a client was told of is there
// Every check throws BrokenInvariant.
#pragma once

#include <set>
#include <string>

#include "sim/saga_business.h"
#include "sim/signals.h"

namespace skald::sim {

class SagaLedger {
 public:
  SagaLedger(Stage& stage, const Provider& provider) : stage_(stage), provider_(provider) {}

  void started(const std::string& saga_id) { told_.insert(saga_id); }
  void observe();
  // Sagas that have neither ended nor been parked; empty: quiet.
  std::string unfinished();
  std::vector<std::string> parked();
  std::vector<std::string> awaiting();
  void check_end();

 private:
  [[noreturn]] void broken(std::string invariant, const std::string& text) const {
    throw BrokenInvariant{std::move(invariant), text};
  }
  void check_stock(Transaction& tx);
  void check_locks(Transaction& tx);
  void check_money(Transaction& tx);
  void check_effects(Transaction& tx);

  Stage& stage_;
  const Provider& provider_;
  std::set<std::string> told_;
};

}  // namespace skald::sim
