// Agentflow as a simulated process: the real service, installed on a real engine that has no threads, over a database and
// an outside that fail. A crash destroys it; repositories, agents and folders stay.
#pragma once

#include <memory>
#include <string>

#include "http/router.h"
#include "runtime/steps.h"
#include "sim/agentflow/flow_outside.h"
#include "sim/faulty_database.h"
#include "sim/stage.h"
#include "skald/engine.h"

namespace skald::sim {

// The scratch folder has another name in each run: no trace may hold it.
std::string without_folder(const Stage& stage, std::string_view text);

class FlowObserver final : public Observer {
 public:
  explicit FlowObserver(Stage& stage) : stage_(stage) {}
  void count(std::string_view, std::int64_t) override {}
  void log(Level level, std::string_view message, std::string_view fields) override;

 private:
  Stage& stage_;
};

class FlowUnit {
 public:
  struct Surroundings {
    Stage& stage;
    GitModel& git;
    AgentModel& agents;
    FlowOutages& outages;
    FaultyDatabase::Wiring wiring;
    std::function<void(Duration)> wait;  // lets others run, and at least that time pass
  };
  explicit FlowUnit(Surroundings around);

  // Each says when it wants to be called again.
  Duration beat();
  Duration relay();
  Duration jobs();
  Duration poll_sagas();
  Duration run_saga();
  Duration receive();

  bool wants_relay() const { return steps_.relay_woken() && !wake_seen_; }
  bool has_agents_news() const { return agents_->has_news(); }

  Response call(const Caller& caller, Request request) { return routes_.dispatch_as(caller, std::move(request)); }
  Engine& engine() { return engine_; }
  runtime::Steps& steps() { return steps_; }
  FaultyDatabase& db() { return db_; }
  bool idle() const { return steps_.relay_idle(); }

 private:
  template <class Step>
  Duration tried(std::string_view name, Step&& step);

  Stage& stage_;
  SimClock clock_;
  FlowObserver observer_;
  Env env_;
  FaultyDatabase db_;
  FlowFaults faults_;
  std::shared_ptr<SimulatedAgents> agents_;
  std::shared_ptr<void> installed_;  // outlives the engine
  http::Routes routes_;
  Engine engine_;
  runtime::Steps steps_;
  bool wake_seen_ = false;  // the relay was woken and could not go on: it comes again by itself
};

}  // namespace skald::sim
