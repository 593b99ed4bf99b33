// Those who use the services: they emit, donate with idempotency keys, come in
// crowds, and remember what they were told.
#pragma once

#include "sim/ledger.h"
#include "sim/process.h"
#include "sim/stage.h"

namespace skald::sim {

class Clients {
 public:
  Clients(Stage& stage, Ledger& ledger) : stage_(stage), ledger_(ledger) {}

  // One action at the given process. Errors of the store are its client's news;
  // Crash goes on.
  void act(Process& process);

 private:
  void emit(Process& process);
  void donate(Process& process);
  void crowd(Process& process);
  std::string next_subject() { return "b" + std::to_string(++subjects_); }

  Stage& stage_;
  Ledger& ledger_;
  int subjects_ = 0;
  int crowds_ = 0;
};

}  // namespace skald::sim
