// Brings the ends of agents' runs, and what agents have put into their mailboxes, in as events, by way of the engine's
// inbox: each once, under an id of its own, keyed by the work; whatever an agent has said comes before its end. The engine
// drives it and says which works are this process's.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "agentflow/agents.h"
#include "agentflow/mailroom.h"
#include "agentflow/spending.h"
#include "skald/bus.h"

namespace agentflow {

class AgentInlet final : public skald::Inlet {
 public:
  using Land = std::function<void(std::span<const skald::Message>)>;
  using Wrote = std::function<void()>;
  // What `agents` and `env` refer to outlives it. `wrote` is called when an agent may have written something, at most ten
  // times a second; it must not block or throw.
  AgentInlet(skald::Env env, Agents& agents, Mailroom::SpaceOf space_of, Mailroom::SecretsOf secrets_of, Land land,
             SpendingWatch::RuleOf rule_of, Wrote wrote);

  void set_partitions(std::uint64_t mask) override;
  void poll(skald::Duration wait, std::span<const int> wake = {}) override;
  bool is_up() const override { return up_; }
  // A run lies in its folder until its workflow is deleted, but what is landed is remembered beside it.
  skald::Duration memory() const override { return std::chrono::hours(24); }

 private:
  void look_at_all();
  skald::Duration tell_of_writing(skald::Duration wait);
  void look_at(const std::string& run);
  void take_mail(const std::string& run, const std::string& work_id);
  void drop(const std::string& run);
  void tell_end(const std::string& work_id, const std::optional<RunName>& name, const skald::RunView& run);
  void tell_spending(const RunName& name, const skald::RunView& run);

  skald::Env env_;
  Agents& agents_;
  Mailroom mailroom_;
  Land land_;
  SpendingWatch spending_;
  Wrote wrote_;
  bool written_ = false;  // since `wrote_` was called
  skald::Instant told_at_{};
  std::uint64_t mask_ = 0;
  bool up_ = true;
  std::set<std::string> live_;  // not landed yet, as far as is known
  std::set<std::string> landed_;
};

}  // namespace agentflow
