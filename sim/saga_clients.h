// Those who start sagas, and send the signals that some wait for.
#pragma once

#include "sim/process.h"
#include "sim/saga_ledger.h"

namespace skald::sim {

class SagaClients {
 public:
  SagaClients(Stage& stage, SagaLedger& ledger) : stage_(stage), ledger_(ledger) {}
  void act(Process& process);

 private:
  void signal(Process& process);
  SimOrder draw_order();
  SimTransfer draw_transfer(std::string_view prefix);
  template <class State>
  void start(Process& process, const std::string& type, State state);

  Stage& stage_;
  SagaLedger& ledger_;
};

}  // namespace skald::sim
