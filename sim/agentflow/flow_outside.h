// Git, agents and folders as one process of agentflow reaches them: the models behind its faults.
#pragma once

#include <memory>

#include "agentflow/agents.h"
#include "agentflow/repositories.h"
#include "agentflow/spaces.h"
#include "sim/agentflow/agent_model.h"
#include "sim/agentflow/flow_faults.h"
#include "sim/agentflow/git_model.h"

namespace skald::sim {

std::shared_ptr<agentflow::Repositories> simulated_repositories(GitModel& git, FlowFaults& faults);

// Real folders.
std::shared_ptr<agentflow::Spaces> simulated_spaces(FlowFaults& faults);

// What has changed is told to each process from its start on.
class SimulatedAgents final : public agentflow::Agents {
 public:
  SimulatedAgents(AgentModel& agents, FlowFaults& faults)
      : agents_(agents), faults_(faults), told_(agents.changes().size()) {}

  void start(const RunSpec& spec) override;
  void stop(const std::string& run, const std::string& why) override;
  void prevent(const std::string& run, const std::string& why) override;
  std::optional<RunView> look(const std::string& run) override;
  std::vector<std::string> list() const override { return agents_.list(); }
  std::string output(const std::string& run, std::int64_t offset, std::size_t bytes_max) const override;
  int fd() const override { return -1; }
  std::vector<std::string> changed() override;
  void forget(const std::string& run) override;

  bool has_news() const { return told_ < agents_.changes().size(); }

 private:
  AgentModel& agents_;
  FlowFaults& faults_;
  std::size_t told_;
};

}  // namespace skald::sim
