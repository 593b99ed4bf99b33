#include "sim/agentflow/flow_unit.h"

#include "agentflow/agentflow.h"
#include "http/idempotency.h"

namespace skald::sim {
namespace {

constexpr int kAgentsMax = 4;

EngineOptions flow_engine_options(const Plan& plan) {
  EngineOptions out;
  out.outbox = plan.options;
  out.outbox.source = "/agentflow";
  return out;
}

// One for each way to treat an agent that asks, and one whose second try finds what the first has left.
std::map<std::string, agentflow::Preset> flow_presets() {
  const agentflow::Preset waits{.argv = {"agent"}, .question_pattern = "^QUESTION: (.*)$"};
  agentflow::Preset leaves = waits, careless = waits;
  leaves.on_question = agentflow::OnQuestion::end;
  careless.restore_before_retry = false;
  careless.argv.emplace_back(kCarelessAgent);
  return {{"waits", waits}, {"leaves", leaves}, {kCarelessAgent, careless}};
}

}  // namespace

std::string without_folder(const Stage& stage, std::string_view text) {
  const std::string folder = stage.folder.file("");
  std::string out(text);
  for (std::size_t at; (at = out.find(folder)) != out.npos;) out.erase(at, folder.size());
  return out;
}

void FlowObserver::log(Level, std::string_view message, std::string_view fields) {
  stage_.trace.note(stage_.now(), {"  log", message, without_folder(stage_, fields)});
}

FlowUnit::FlowUnit(Surroundings around)
    : stage_(around.stage),
      clock_(stage_.timeline),
      observer_(stage_),
      env_{clock_, stage_.engine_random, observer_},
      db_(stage_, around.wiring),
      faults_(stage_, around.outages, {around.wait, around.wiring.dying, around.wiring.crashes}),
      agents_(std::make_shared<SimulatedAgents>(around.agents, faults_)),
      routes_(env_, http::Authenticator(env_, std::nullopt), "sim"),
      engine_(env_, db_, flow_engine_options(stage_.plan)),
      steps_(engine_) {
  http::migrate_api_keys(db_);
  installed_ = agentflow::install(engine_, routes_, env_,
                                  {.folder = stage_.folder.file("flow"),
                                   .repositories = simulated_repositories(around.git, faults_),
                                   .agents = agents_,
                                   .spaces = simulated_spaces(faults_),
                                   .presets = flow_presets(),
                                   .agents_max = kAgentsMax,
                                   .greet_mcp_servers = false,
                                   .program = "skald",
                                   .pause = around.wait});
}

template <class Step>
Duration FlowUnit::tried(std::string_view name, Step&& step) {
  try {
    return step();
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  no", name, error.code()});
    return 100ms;
  }
}

Duration FlowUnit::beat() {
  return tried("beat", [&] { return steps_.beat(); });
}

Duration FlowUnit::relay() {
  const Duration again = steps_.relay();
  wake_seen_ = steps_.relay_woken();
  return again;
}

Duration FlowUnit::jobs() {
  return tried("jobs", [&] { return steps_.jobs(); });
}

Duration FlowUnit::poll_sagas() {
  return tried("poll of sagas", [&] { return steps_.sagas().poll(); });
}

Duration FlowUnit::run_saga() {
  return tried("run of a saga", [&] { return steps_.sagas().run_one(); });
}

Duration FlowUnit::receive() {
  return tried("receiving", [&] { return steps_.inlets().poll(); });
}

}  // namespace skald::sim
