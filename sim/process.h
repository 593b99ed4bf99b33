// One simulated process: the engine's parts over the shared disk, wired as
// src/runtime wires them, but stepped by the scheduler. A crash destroys it.
#pragma once

#include <memory>

#include "dead_letter/undertaker.h"
#include "http/idempotency.h"
#include "outbox/emitter.h"
#include "outbox/membership.h"
#include "outbox/relay.h"
#include "outbox/routing.h"
#include "sim/faulty_database.h"
#include "sim/faulty_file.h"
#include "sim/ledger.h"
#include "sim/saga_business.h"
#include "sim/sim_bus.h"
#include "sim/stage.h"

namespace skald::sim {

// Turns the engine's own metrics into markers.
class MarkingObserver final : public Observer {
 public:
  explicit MarkingObserver(Stage& stage) : stage_(stage) {}
  void count(std::string_view metric, std::int64_t by) override;
  void log(Level level, std::string_view message, std::string_view fields) override;

 private:
  Stage& stage_;
};

class Process {
 public:
  struct Surroundings {
    Stage& stage;
    Ledger& ledger;
    Network& network;
    FaultyFile& file;
    Provider& provider;
    int index;
    FaultyDatabase::Wiring wiring;
    std::function<void(std::uint64_t partitions)> announce;  // to the other processes
  };
  explicit Process(Surroundings around);

  // Each says when it wants to be called again.
  Duration beat();
  Duration relay_once();
  Duration sagas_once();
  std::optional<Instant> next_answer() const { return bus_.next_answer(); }

  void wake(std::uint64_t partitions) {
    relay_.wake(partitions);
    woken_ = true;
  }
  bool woken() const { return woken_; }   // since the relay's last step began
  // Begins nothing new; true once nothing is in its hands.
  void drain() {
    relay_.drain();
    runner_.drain();
  }
  bool drained() const { return relay_.in_hand() == 0; }
  void leave() { membership_.leave(); }
  bool idle() const { return relay_.in_hand() == 0 && bus_.in_flight() == 0; }
  bool sagas_woken() const { return sagas_woken_; }
  Instant beat_began() const { return beat_began_; }
  std::string worker() const { return membership_.view()->worker; }

  FaultyDatabase& db() { return db_; }
  saga::Runner& runner() { return runner_; }
  const saga::Registry& registry() const { return registry_; }
  void retry_saga(const std::string& id);
  FallbackFile& fallback() { return fallback_; }
  http::InFlight& in_flight() { return in_flight_; }
  const outbox::Routing& routing() const { return routing_; }
  Env env() { return env_; }

 private:
  void handle(Transaction& tx, const std::string& consumer, const Message& message);
  std::int64_t acting_fence(int partition) const;

  Surroundings around_;
  Stage& stage_;
  SimClock clock_;
  MarkingObserver observer_;
  Env env_;
  FaultyDatabase db_;
  SimBus bus_;
  outbox::Routing routing_;
  outbox::Emitter emitter_;
  FallbackFile fallback_;
  dead_letter::Undertaker undertaker_;
  outbox::Membership membership_;
  outbox::Relay relay_;
  http::InFlight in_flight_;
  saga::Registry registry_;
  saga::Runner runner_;
  std::shared_ptr<const outbox::Membership::View> acting_;   // what the relay's step works under
  Instant step_began_{}, beat_began_{};
  bool woken_ = false, sagas_woken_ = false;
};

}  // namespace skald::sim
