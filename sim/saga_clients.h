// Those who start sagas, send the signals that some wait for, and have some undone.
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
  void send(Process& process, const std::string& saga_id, const std::string& signal);
  void compensate(Process& process);
  SimOrder draw_order();
  SimTransfer draw_transfer(std::string_view prefix);
  SimTrip draw_trip();
  template <class State>
  void start(Process& process, const std::string& type, State state, std::string key);

  Stage& stage_;
  SagaLedger& ledger_;
};

}  // namespace skald::sim
