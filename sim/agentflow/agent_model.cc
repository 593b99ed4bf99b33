#include "sim/agentflow/agent_model.h"

#include <algorithm>

namespace skald::sim {
namespace {

constexpr Duration kStuckFor = 150s;  // less than a saga has patience for

}  // namespace

AgentRun* AgentModel::find(const std::string& run) {
  act_due();
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

void AgentModel::start(const RunSpec& spec, const Cut& cut) {
  act_due();
  AgentRun& run = runs_[spec.id];
  if (run.launched || run.end) return;
  run.spec.id = spec.id;
  cut();
  if (run.stop_reason) return settle(run);
  run.spec = spec;
  begin(run);
}

void AgentModel::stop(const std::string& id, const std::string& why) {
  AgentRun* const run = find(id);
  if (run == nullptr || run->end) return;
  if (!run->stop_reason) {
    run->stop_reason = why;
    if (run->lives()) run->dies_at = stage_.now() + stage_.dice.between(0ms, 6s);
  }
  settle(*run);
}

void AgentModel::prevent(const std::string& id, const std::string& why, const Cut& cut) {
  act_due();
  if (!runs_.contains(id)) {
    runs_[id].spec.id = id;
    cut();
  }
  stop(id, why);
}

// The folder's lock is free: nobody supervises it.
void AgentModel::settle(AgentRun& run) {
  if (run.end || run.lives()) return;
  if (run.lost) {
    run.has_leftovers = false;
    finish(run, {.outcome = RunOutcome::INTERRUPTED, .why = "its supervisor is gone"});
  } else if (run.stop_reason) {
    finish(run, {.outcome = RunOutcome::KILLED, .why = *run.stop_reason});
  }
}

std::optional<RunView> AgentModel::look(const std::string& id) {
  AgentRun* const run = find(id);
  if (run == nullptr) return std::nullopt;
  if (run->lost && !run->end && stage_.now() < run->settles_at)
    throw Unavailable("RUN_NOT_SETTLED", "simulated: what is left of the run does not end");
  settle(*run);
  RunView view{.id = id, .output_bytes = std::ssize(run->output), .end = run->end};
  if (run->launched) {
    view.pid = 1;
    view.started_at = run->started_at;
  }
  return view;
}

std::vector<std::string> AgentModel::list() const {
  std::vector<std::string> out;
  for (const auto& [id, run] : runs_) out.push_back(id);
  return out;
}

std::string AgentModel::output(const std::string& id, std::int64_t offset, std::size_t bytes_max) const {
  const auto found = runs_.find(id);
  if (found == runs_.end() || offset >= std::ssize(found->second.output)) return "";
  return found->second.output.substr(static_cast<std::size_t>(offset), bytes_max);
}

void AgentModel::forget(const std::string& id) {
  AgentRun* const run = find(id);
  if (run == nullptr) return;
  if (run->lives()) throw Conflict("RUN_LIVES", "the run has not ended");
  settle(*run);
  runs_.erase(id);
}

void AgentModel::lose(AgentRun& run, bool leftovers) {
  run.lost = true;
  run.has_leftovers = leftovers;
  run.settles_at = stage_.now();
  if (stage_.dice.chance(300)) run.settles_at += stage_.dice.chance(200) ? kStuckFor : stage_.dice.between(0ms, 4s);
  change(run);
  stage_.trace.note(stage_.now(), {"  agent", run.spec.id, leftovers ? "loses its supervisor" : "ends by a reboot"});
}

void AgentModel::interrupt_one() {
  act_due();
  std::vector<AgentRun*> alive;
  for (auto& [id, run] : runs_)
    if (run.lives()) alive.push_back(&run);
  if (alive.empty()) return;
  stage_.markers.hit(Marker::agent_interrupted);
  lose(*stage_.dice.pick(alive), true);
}

void AgentModel::reboot() {
  act_due();
  stage_.markers.hit(Marker::machine_rebooted);
  for (auto& [id, run] : runs_) {
    run.has_leftovers = false;
    if (run.lives()) lose(run, false);
  }
}

bool AgentModel::any_lives() const {
  return std::ranges::any_of(runs_, [](const auto& one) { return one.second.lives(); });
}

std::optional<Instant> AgentModel::next() const {
  std::optional<Instant> out;
  for (const auto& [id, run] : runs_) {
    if (!run.lives() && !run.has_leftovers) continue;
    const Instant at = run.dies_at ? std::min(run.acts_at, *run.dies_at) : run.acts_at;
    if (!out || at < *out) out = at;
  }
  return out;
}

void AgentModel::act_due() {
  for (;;) {
    const auto at = next();
    if (!at || *at > stage_.now()) return;
    for (auto& [id, run] : runs_) {
      if (!run.lives() && !run.has_leftovers) continue;
      if (run.dies_at && *run.dies_at <= *at) {
        write_files(run, "told to end");
        finish(run, {.outcome = RunOutcome::KILLED, .signal = 15, .why = *run.stop_reason});
      } else if (run.acts_at <= *at) {
        act(run);
      }
    }
  }
}

}  // namespace skald::sim
