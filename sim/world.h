// The scheduler: one thread, one seed. Decides after every transaction who goes on
// next, kills, freezes and starts processes, and checks the invariants after each
// decision. In the end everything heals, and all that was promised must come true.
#pragma once

#include <deque>
#include <memory>

#include "sim/clients.h"
#include "sim/ledger.h"
#include "sim/operators.h"
#include "sim/process.h"
#include "sim/saga_clients.h"
#include "sim/saga_ledger.h"
#include "sim/stage.h"

namespace skald::sim {

class World {
 public:
  World(std::uint64_t seed, Workload workload, std::ostream* trace);
  ~World();

  // Throws BrokenInvariant.
  void run();

  int decisions() const { return decisions_; }
  std::uint64_t hash() const { return stage_.trace.hash(); }
  const Markers& markers() const { return stage_.markers; }

 private:
  // Where a process lives: a machine with its disk, and what becomes of it.
  struct Slot {
    std::unique_ptr<Process> process;
    std::unique_ptr<FaultyFile> file;
    Instant frozen_until{};
    int freezes = 0;         // of its own steps, which hold it frozen from inside
    int frames = 0;          // steps of it that are under way
    bool dying = false;      // ends as soon as no frame is left
    bool graceful = false;   // a stop is under way
  };
  struct Actor {
    std::string name;
    int slot;                // -1: the outside
    enum class Kind { start, beat, relay, sagas, outside } kind;
    Instant due{};
    std::function<Duration()> step;
    bool busy = false;       // under way further up
  };

  void add_machine(int slot);
  // One decision, not later than `limit`; false: nothing happens before it.
  bool step(Instant limit);
  std::optional<Instant> due(const Actor& actor) const;   // nullopt: it cannot run
  void run_actor(Actor& actor);
  // Others run while a step of this process stands still.
  void pause(int slot, Duration time, bool whole_process);
  // Runs `body` as a part of the process, which may die in it.
  void inside(int slot, const std::function<void(Process&)>& body);
  void start(int slot);
  void kill(int slot);
  void end_process(int slot);
  Duration relay_step(int slot);
  Duration chaos_step();
  int anybody();                                          // a slot that can be asked, or -1

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
  std::string folder_;
  std::deque<Slot> slots_;
  std::deque<Actor> actors_;
  Clients clients_;
  Operators operators_;
  Provider provider_;
  SagaLedger saga_ledger_;
  SagaClients saga_clients_;
  int decisions_ = 0;
};

}  // namespace skald::sim
