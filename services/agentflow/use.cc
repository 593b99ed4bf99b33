#include "agentflow/use.h"

#include <set>

namespace agentflow {
namespace {

std::vector<Use> uses(const std::set<std::string>& ids) {
  std::vector<Use> out;
  for (const std::string& id : ids) out.push_back({id});
  return out;
}

}  // namespace

std::vector<Use> git_uses(const Workflow& workflow) {
  std::set<std::string> ids;
  for (const GitRef& ref : in_column<std::vector<GitRef>>(workflow.git_refs)) ids.insert(ref.git_id);
  return uses(ids);
}

std::vector<Use> git_uses(skald::Transaction& tx, const Workflow& workflow) {
  std::set<std::string> ids;
  for (const Use& use : git_uses(workflow)) ids.insert(use.id);
  for (const WorkTree& tree : trees_of(tx, workflow.id)) ids.insert(tree.git_id);
  return uses(ids);
}

std::vector<Use> mcp_uses(skald::Transaction& tx, const std::string& workflow_id) {
  const Ids ids = mcp_servers_of(works_of(tx, workflow_id));
  return uses({ids.begin(), ids.end()});
}

Ids mcp_servers_of(const std::vector<Work>& works) {
  std::set<std::string> ids;
  for (const Work& work : works)
    for (const std::string& id : in_column<Ids>(work.mcp_server_refs)) ids.insert(id);
  return {ids.begin(), ids.end()};
}

std::vector<Work> works_of(skald::Transaction& tx, const std::string& workflow_id) {
  return tx.select<Work>("WHERE workflow_id = $1 ORDER BY position", workflow_id);
}

bool has_running_work(skald::Transaction& tx, const std::string& workflow_id) {
  return tx.query("SELECT COUNT(*) FROM flow_work WHERE workflow_id = $1 AND status = 'RUNNING'", workflow_id)
             .get<std::int64_t>(0, 0) > 0;
}

std::vector<WorkTree> trees_of(skald::Transaction& tx, const std::string& workflow_id) {
  return tx.select<WorkTree>("WHERE workflow_id = $1 ORDER BY id", workflow_id);
}

}  // namespace agentflow
