// What must hold while sagas run, and what must have come true in the end:
//   I4 each remote step has its effect once, or is cancelled; local ones are undone in reverse
//   I5 every saga ends, or is parked in sight; none waits for what has happened
//   I6 an ended saga holds no lock and no reservation; see lock_watch.h
//   I7 one live saga per business key; a signal counts once
//   I8 stock and money are conserved, and the checker finds nothing in the history
//   I9 what a client was told of is there
// Every check throws BrokenInvariant.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/lock_watch.h"
#include "sim/saga_business.h"
#include "sim/signals.h"
#include "sim/step_history.h"

namespace skald::sim {

class SagaLedger {
 public:
  explicit SagaLedger(Stage& stage) : stage_(stage), locks_(stage) {}

  void started(const std::string& saga_id) { told_.insert(saga_id); }
  // A client was told that its signal is there, while the saga could still hear it.
  void signalled(const std::string& saga_id, const std::string& signal) { signals_[saga_id].insert(signal); }
  // After a commit of that name.
  void observe(std::string_view name);
  // Sagas that have neither ended nor been parked; empty: quiet.
  std::string unfinished();
  std::vector<std::string> parked();
  std::vector<std::string> live(std::string_view type);
  void check_end();

 private:
  [[noreturn]] void broken(std::string invariant, const std::string& text) const {
    throw BrokenInvariant{std::move(invariant), text};
  }
  void check_stock(Transaction& tx) const;
  void check_waits(Transaction& tx) const;
  void check_isolation(Transaction& tx) const;
  void check_effects(Transaction& tx) const;
  void check_errors(Transaction& tx) const;
  void check_signals(Transaction& tx) const;
  void check_children(Transaction& tx) const;

  Stage& stage_;
  LockWatch locks_;
  StepHistory history_;
  std::set<std::string> told_;
  std::map<std::string, std::set<std::string>> signals_;
};

}  // namespace skald::sim
