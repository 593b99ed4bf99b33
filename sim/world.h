// The engine by itself: several processes on one database, or one, with the outside that
// kills, freezes and starts them. The invariants are checked after each decision; in the end
// everything heals, and all that was promised must come true.
#pragma once

#include <deque>
#include <memory>

#include "sim/clients.h"
#include "sim/ledger.h"
#include "sim/operators.h"
#include "sim/process.h"
#include "sim/saga_clients.h"
#include "sim/saga_ledger.h"
#include "sim/scheduler.h"
#include "sim/stage.h"

namespace skald::sim {

class World final : public Scheduler {
 public:
  World(std::uint64_t seed, Workload workload, std::ostream* trace);

  // Throws BrokenInvariant.
  void run();

  std::uint64_t hash() const { return stage_.trace.hash(); }
  const Markers& markers() const { return stage_.markers; }

 private:
  // A machine with its disk, and the process on it while there is one.
  struct Machine {
    std::unique_ptr<Process> process;
    std::unique_ptr<FaultyFile> file;
  };

  void begin_process(int slot) override;
  void end_process(int slot, bool graceful) override;
  bool writer_stopped(int slot) override { return process(slot).db().writer_stopped(); }
  void drain(int slot) override { process(slot).drain(); }
  bool drained(int slot) override { return process(slot).drained(); }
  void leave(int slot) override { process(slot).leave(); }
  std::optional<Instant> next_arrival() override { return network_.next(); }
  void deliver_due() override { network_.deliver_due(); }
  void observe() override { ledger_.observe(); }

  void add_machine(int slot);
  Process& process(int slot) { return *machines_[static_cast<std::size_t>(slot)].process; }
  FaultyFile& file(int slot) { return *machines_[static_cast<std::size_t>(slot)].file; }
  using Scheduler::inside;
  void inside(int slot, const std::function<void(Process&)>& body) {
    Scheduler::inside(slot, [&] { body(process(slot)); });
  }
  Duration relay_step(int slot);
  Duration chaos_step();

  void heal();
  void run_until_quiet();
  void forget_everything();
  void resolve_blocked_keys();
  void add_saga_actors();
  void help_parked_sagas();
  bool runs_sagas() const { return stage_.plan.runs_sagas(); }

  Stage stage_;
  Ledger ledger_;
  Network network_;
  std::deque<Machine> machines_;
  Clients clients_;
  Operators operators_;
  Provider provider_;
  SagaLedger saga_ledger_;
  SagaClients saga_clients_;
};

}  // namespace skald::sim
