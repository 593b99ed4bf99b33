// Brings the ends of agents' runs in as events, by way of the engine's inbox: each once, under an id of its own, keyed by
// the work. The engine drives it and says which works are this process's.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "agentflow/agents.h"
#include "agentflow/spending.h"
#include "skald/bus.h"

namespace agentflow {

class AgentInlet final : public skald::Inlet {
 public:
  using Land = std::function<void(std::span<const skald::Message>)>;
  // What `agents` and `env` refer to outlives it.
  AgentInlet(skald::Env env, Agents& agents, Land land, SpendingWatch::RuleOf rule_of);

  void set_partitions(std::uint64_t mask) override;
  void poll(skald::Duration wait, std::span<const int> wake = {}) override;
  bool is_up() const override { return up_; }
  // A run lies in its folder until its workflow is deleted, but what is landed is remembered beside it.
  skald::Duration memory() const override { return std::chrono::hours(24); }

 private:
  void look_at_all();
  void look_at(const std::string& run);
  void tell_end(const RunName& name, const skald::RunView& run);
  void tell_spending(const RunName& name, const skald::RunView& run);

  skald::Env env_;
  Agents& agents_;
  Land land_;
  SpendingWatch spending_;
  std::uint64_t mask_ = 0;
  bool up_ = true;
  std::set<std::string> live_;  // not landed yet, as far as is known
  std::set<std::string> landed_;
};

}  // namespace agentflow
