// What a running agent uses: told while it runs, so that a limit stops it before its end.
//
// The watch belongs to the inlet of agents. It reads each byte of output once, and only where a preset says how cost is
// told; a few at a time, so that an agent that writes without end keeps nobody waiting.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agentflow/agents.h"
#include "agentflow/cost.h"
#include "agentflow/flow.h"
#include "agentflow/task_end.h"
#include "skald/bus.h"

namespace agentflow {

// How a run is watched.
struct SpendingRule {
  CostRule cost = {};
  // Of the run's own time: when the workflow's warning and its end are due. Empty: it has no limit of time.
  std::vector<std::chrono::milliseconds> due = {};
};

SpendingRule spending_rule(const Options& options, skald::Transaction& tx, const RunName& run);

// Of a run as it stands.
struct Spent {
  std::optional<double> cost;
  std::int64_t milliseconds = 0;
};

// Thread safety: one thread at a time.
class SpendingWatch {
 public:
  using RuleOf = std::function<SpendingRule(const RunName&)>;
  SpendingWatch(const skald::Clock& clock, Agents& agents, RuleOf rule_of)
      : clock_(clock), agents_(agents), rule_of_(std::move(rule_of)) {}

  // What there is to tell of a run that goes on; mostly nothing.
  std::optional<Spent> look(const RunName& name, const skald::RunView& run);
  // Of one that has ended. None: there is more output to read, ask again.
  std::optional<Spent> finish(const RunName& name, const skald::RunView& run);
  void forget(const std::string& run) { watched_.erase(run); }

 private:
  struct Watched {
    SpendingRule rule;
    std::optional<CostReader> reader;
    std::int64_t offset = 0;  // of output that has been read
    std::optional<double> told_cost;
    skald::Instant seen_at{}, told_at{};
    std::chrono::milliseconds age_when_seen{0};

    std::chrono::milliseconds age(skald::Instant now) const;
    bool is_due(std::chrono::milliseconds from, std::chrono::milliseconds to) const;
  };

  Watched& watched(const RunName& name, const skald::RunView& run);
  bool read_output(Watched& run, const skald::RunView& view);

  const skald::Clock& clock_;
  Agents& agents_;
  RuleOf rule_of_;
  std::map<std::string, Watched> watched_;
};

// A run has used so much (AgentSpent): it is written down, warned of, and ended at its limit.
void note_spending(const Flow& flow, skald::Transaction& tx, const skald::Message& message);

}  // namespace agentflow
