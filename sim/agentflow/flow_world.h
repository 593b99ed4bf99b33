// Agentflow on one database, with simulated git, agents and disk, its users, and the people who work in the same
// repositories. In the end everything heals, questions are answered, and all that was promised must hold; then all is
// deleted, and nothing may be left.
#pragma once

#include <memory>

#include "sim/agentflow/flow_clients.h"
#include "sim/agentflow/flow_ledger.h"
#include "sim/agentflow/flow_site.h"
#include "sim/scheduler.h"

namespace skald::sim {

class FlowWorld final : public Scheduler, private FlowSite {
 public:
  FlowWorld(std::uint64_t seed, Workload workload, std::ostream* trace);

  // Throws BrokenInvariant.
  void run();

  std::uint64_t hash() const { return stage_.trace.hash(); }
  const Markers& markers() const { return stage_.markers; }

 private:
  void begin_process(int slot) override;
  void end_process(int slot, bool graceful) override;
  bool writer_stopped(int) override { return unit_->db().writer_stopped(); }
  void drain(int slot) override;
  bool drained(int) override { return unit_->idle(); }
  void leave(int) override { unit_->steps().leave(); }
  std::optional<Instant> next_arrival() override { return agents_.next(); }
  void deliver_due() override { agents_.act_due(); }
  void observe() override;

  std::optional<Response> call(Request request) override;
  bool work(const std::function<void(FlowUnit&)>& body) override;

  void add_machine();
  void add_outside();
  void prepare();
  void wait(Duration time);
  void pause_noting(Duration time, bool whole_process);
  void heal();
  void run_until_quiet();
  // What waits for a person because its process died of it, by chance; false: nothing does.
  bool help();
  void check_invariants();

  Stage stage_;
  GitModel git_;
  AgentModel agents_;
  FlowOutages outages_;
  FlowLedger ledger_;
  FlowClients clients_;
  std::unique_ptr<FlowUnit> unit_;
  std::optional<BrokenInvariant> broken_;  // seen inside of the process, whose HTTP edge catches everything
};

}  // namespace skald::sim
