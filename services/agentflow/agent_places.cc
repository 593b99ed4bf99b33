#include "agentflow/agent_places.h"

namespace agentflow {
namespace {

using skald::Transaction;

constexpr std::chrono::hours kWaitForPlace{24 * 7};
constexpr const char* kPlaces = "agents";
constexpr const char* kHasAgent = "WHERE status = 'RUNNING' AND agent_status IN ('STARTING', 'RUNNING')";

[[noreturn]] void wait_for_place(const std::string& which, const std::string& told) {
  throw skald::Busy("AGENTS_BUSY", "as many agents run as may at once " + told, {},
                    skald::Shortage{kPlaces, which, kWaitForPlace});
}

std::string first_git(const Workflow& workflow) {
  const auto refs = in_column<std::vector<GitRef>>(workflow.git_refs);
  return refs.empty() ? "" : refs[0].git_id;
}

std::int64_t agents_in(Transaction& tx, const std::string& git_id) {
  std::int64_t out = 0;
  for (const Work& work : tx.select<Work>(kHasAgent))
    if (const auto workflow = tx.find<Workflow>(work.workflow_id); workflow && first_git(*workflow) == git_id) ++out;
  return out;
}

std::int64_t runs_alive(Agents& agents) {
  std::int64_t out = 0;
  for (const std::string& run : agents.list())
    if (const auto seen = agents.look(run); seen && seen->pid != 0 && !seen->end) ++out;
  return out;
}

}  // namespace

void refuse_without_place(const Outside& outside, Transaction& tx, const Workflow& workflow) {
  const Options& options = outside.options;
  const std::int64_t now = tx.query("SELECT (SELECT COUNT(*) FROM flow_work " + std::string(kHasAgent) +
                                    ") + (SELECT COUNT(*) FROM flow_query WHERE status = 'RUNNING')")
                               .get<std::int64_t>(0, 0);
  if (now >= options.agents_max) wait_for_place("all", "(agentflow.agents_max)");
  if (options.agents_per_machine > 0 && std::max(now, runs_alive(outside.agents())) >= options.agents_per_machine)
    wait_for_place("machine", "on this machine (agentflow.agents_per_machine)");
  const std::string git = first_git(workflow);
  if (options.agents_per_repository > 0 && agents_in(tx, git) >= options.agents_per_repository)
    wait_for_place("git/" + git, "in this repository (agentflow.agents_per_repository)");
}

void free_places(Transaction& tx, const std::string& workflow_id,
                 const std::function<void(const std::string& kind, const std::string& name)>& freed) {
  freed(kPlaces, "all");
  freed(kPlaces, "machine");
  if (const auto workflow = tx.find<Workflow>(workflow_id)) freed(kPlaces, "git/" + first_git(*workflow));
}

}  // namespace agentflow
