// GET /agentflow/agents: what runs now, those too whose work was stopped and that have not ended yet.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agentflow/flow.h"
#include "skald/http.h"

namespace agentflow {
namespace {

using skald::Transaction;

struct AgentView {
  std::string run, workflow_id, work_id;
  int n = 0;
  std::string agent;
  WorkStatus work_status{};  // of one that is not RUNNING, the agent is on its way out
  std::int64_t pid = 0;
  std::optional<skald::Time> started_at;
  std::int64_t output_bytes = 0, output_lost = 0;
  std::int64_t memory_bytes = 0;  // of its process group
};
BOOST_DESCRIBE_STRUCT(AgentView, (),
                      (run, workflow_id, work_id, n, agent, work_status, pid, started_at, output_bytes, output_lost,
                       memory_bytes))

struct AgentsView {
  std::vector<std::string> presets;
  std::vector<AgentView> running;
};
BOOST_DESCRIBE_STRUCT(AgentsView, (), (presets, running))

// Of /proc/PID/stat: the group of a process and its resident pages. Its name may hold anything, so the last ) counts.
std::optional<std::pair<std::int64_t, std::int64_t>> group_and_pages(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::string word;
  std::int64_t group = 0, pages = 0;
  for (int field = 3; rest >> word; ++field) {
    if (field == 5) group = std::atoll(word.c_str());
    if (field == 24) pages = std::atoll(word.c_str());
  }
  return std::pair(group, pages);
}

// By process group; one that ends meanwhile is left out.
std::map<std::int64_t, std::int64_t> memory_of_groups() {
  std::map<std::int64_t, std::int64_t> out;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (const auto seen = group_and_pages(at->path())) out[seen->first] += seen->second * page;
  }
  return out;
}

// Those whose agents may live.
std::vector<Work> works_with_agents(Transaction& tx) {
  auto out = tx.select<Work>("WHERE status = 'RUNNING' ORDER BY id LIMIT 1000");
  const auto leaving =
      tx.select<Work>("WHERE agent_status = 'STOPPING' AND status <> 'RUNNING' ORDER BY id LIMIT 1000");
  out.insert(out.end(), leaving.begin(), leaving.end());
  return out;
}

AgentsView agents_now(const Flow& flow) {
  AgentsView out;
  for (const auto& [name, preset] : flow.outside->options.presets) out.presets.push_back(name);
  flow.db().read_result([&](Transaction& tx) {
    out.running.clear();
    for (const Work& work : works_with_agents(tx)) {
      const auto workflow = tx.find<Workflow>(work.workflow_id);
      for (const Task& task : in_column<Tasks>(work.tasks)) {
        const auto run = task.run && !task.finished_at ? flow.outside->agents().look(*task.run) : std::nullopt;
        if (!run || run->end) continue;
        out.running.push_back({run->id, work.workflow_id, work.id, task.n,
                               task.agent.value_or(workflow ? workflow->agent : ""), work.status, run->pid,
                               run->started_at, run->output_bytes, run->output_lost, 0});
      }
    }
    return true;
  });
  // Behind the look at the runs: each that was seen to live is in it, or has ended since.
  const auto memory = memory_of_groups();
  for (AgentView& agent : out.running)
    if (const auto used = memory.find(agent.pid); used != memory.end()) agent.memory_bytes = used->second;
  return out;
}

}  // namespace

void add_agents_path(const FlowHandle& flow, skald::Router& router) {
  router.get("/agentflow/agents", skald::Access::admin, skald::describe<void, AgentsView>("The agents that run now"),
             [flow](const skald::Request&) { return skald::Response::json(200, agents_now(*flow)); });
}

}  // namespace agentflow
