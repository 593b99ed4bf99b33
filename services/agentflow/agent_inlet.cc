#include "agentflow/agent_inlet.h"

#include <poll.h>

#include <vector>

#include "agentflow/events.h"
#include "agentflow/task_end.h"

namespace agentflow {
namespace {

constexpr int kLookAgainMax = 1'000;  // milliseconds: a supervisor that died tells nobody

// Waits until one of them is readable.
void wait_for(skald::Duration longest, int own, std::span<const int> wake) {
  std::vector<pollfd> all = {{own, POLLIN, 0}};
  for (const int fd : wake) all.push_back({fd, POLLIN, 0});
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  ::poll(all.data(), all.size(), static_cast<int>(std::min<std::int64_t>(time, kLookAgainMax)));
}

}  // namespace

AgentInlet::AgentInlet(skald::Env env, Agents& agents, Land land, SpendingWatch::RuleOf rule_of)
    : env_(env), agents_(agents), land_(std::move(land)), spending_(env.clock, agents, std::move(rule_of)) {}

void AgentInlet::set_partitions(std::uint64_t mask) {
  if (mask == mask_) return;
  mask_ = mask;
  live_.clear();
  for (const std::string& run : agents_.list())
    if (!landed_.contains(run)) live_.insert(run);
}

void AgentInlet::poll(skald::Duration wait, std::span<const int> wake) {
  try {
    look_at_all();
    up_ = true;
  } catch (const std::exception& error) {
    if (up_)
      env_.observer.log(skald::Observer::Level::error, "the ends of agents cannot be taken in",
                        "\"error\":" + skald::to_json(std::string(error.what())));
    up_ = false;
  }
  if (wait > skald::Duration::zero()) wait_for(wait, agents_.fd(), wake);
}

void AgentInlet::look_at_all() {
  for (const std::string& run : agents_.changed())
    if (!landed_.contains(run)) live_.insert(run);
  const std::vector<std::string> live(live_.begin(), live_.end());
  for (const std::string& run : live) look_at(run);
}

void AgentInlet::look_at(const std::string& run) {
  const auto name = run_named(run);
  if (!name) {
    live_.erase(run);
    return;
  }
  if ((mask_ >> skald::partition_of(name->work_id) & 1) == 0) return;
  const auto view = agents_.look(run);
  if (!view) live_.erase(run);
  else if (view->end) tell_end(*name, *view);
  else tell_spending(*name, *view);
}

void AgentInlet::tell_end(const RunName& name, const skald::RunView& run) {
  const auto spent = spending_.finish(name, run);
  if (!spent) return;
  const skald::Message message{
      {.id = "agent-ended/" + run.id,
       .type = std::string(kAgentEnded),
       .key = name.work_id,
       .subject = name.work_id,
       .payload = skald::to_json(AgentEnded{run.id, *run.end, spent->cost, spent->milliseconds})},
      "/agentflow/agents",
      run.end->at,
      1,
      false};
  land_(std::span(&message, 1));
  spending_.forget(run.id);
  live_.erase(run.id);
  landed_.insert(run.id);
}

void AgentInlet::tell_spending(const RunName& name, const skald::RunView& run) {
  const auto spent = spending_.look(name, run);
  if (!spent) return;
  const skald::Message message{{.id = "agent-spent/" + run.id + "/" + std::to_string(spent->milliseconds),
                                .type = std::string(kAgentSpent),
                                .key = name.work_id,
                                .subject = name.work_id,
                                .payload = skald::to_json(AgentSpent{run.id, spent->cost, spent->milliseconds})},
                               "/agentflow/agents",
                               env_.clock.now(),
                               1,
                               false};
  land_(std::span(&message, 1));
}

}  // namespace agentflow
