// One simulated process that runs sagas: wired as src/runtime wires it, but stepped by
// the rehearsal. A crash destroys it.
#pragma once

#include "outbox/emitter.h"
#include "outbox/routing.h"
#include "saga/runner.h"
#include "sim_kit/fragile_database.h"

namespace skald::sim::kit {

class Worker {
 public:
  Worker(Stage& stage, Chronicle& chronicle, std::string id);

  // One piece of work; when it wants to be called again.
  Duration turn();
  saga::Runner& runner() { return runner_; }
  const std::string& id() const { return id_; }

 private:
  // The engine's own log lines, in the story.
  struct Teller final : Observer {
    explicit Teller(Stage& on) : stage(on) {}
    void log(Level level, std::string_view message, std::string_view fields) override;
    Stage& stage;
  };

  Stage& stage_;
  const std::string id_;
  Teller teller_;
  Env env_;
  FragileDatabase db_;
  OutboxOptions options_;
  outbox::Routing routing_;
  outbox::Emitter emitter_;
  saga::Runner runner_;
};

}  // namespace skald::sim::kit
