#include "agentflow/views.h"

#include "agentflow/flow.h"
#include "agentflow/usage.h"

namespace agentflow {

GitView view_of(const Git& git) {
  return {
      git.id,         git.name,   git.path, git.remote, git.status, git.error, in_column<Ids>(git.active_workflow_ids),
      git.created_at, git.version};
}

McpServerView view_of(const McpServer& server) {
  McpServerView out{.id = server.id,
                    .name = server.name,
                    .command = server.command,
                    .url = server.url,
                    .args = in_column<std::vector<std::string>>(server.args),
                    .env_names = {},
                    .active_workflow_ids = in_column<Ids>(server.active_workflow_ids),
                    .created_at = server.created_at,
                    .version = server.version};
  for (const auto& [name, value] : in_column<skald::Variables>(server.variables)) out.env_names.push_back(name);
  return out;
}

TemplateView view_of(const Template& row) {
  const Plan plan = in_column<Plan>(row.body);
  return {row.id, row.name, plan.agent, plan.git_refs, plan.works, plan.ports, row.created_at, row.version};
}

WorkView view_of(skald::Transaction& tx, const Work& work) {
  const auto open =
      tx.select<Question>("WHERE work_id = $1 AND status = 'OPEN' ORDER BY created_at, id LIMIT 1", work.id);
  return {.id = work.id,
          .workflow_id = work.workflow_id,
          .name = work.name,
          .order = work.position,
          .status = work.status,
          .agent_status = work.agent_status,
          .error = work.error,
          .mcp_server_refs = in_column<Ids>(work.mcp_server_refs),
          .wants_report = work.wants_report,
          .parallel = work.parallel,
          .tasks = in_column<Tasks>(work.tasks),
          .question =
              open.empty() ? std::nullopt : std::optional(OpenQuestion{open[0].id, open[0].text, open[0].created_at}),
          .version = work.version};
}

CheckpointView view_of(const Checkpoint& checkpoint) {
  return {checkpoint.id, checkpoint.work_id, checkpoint.created_at,
          in_column<std::vector<TreeCommit>>(checkpoint.commits)};
}

WorkflowView view_of(skald::Transaction& tx, const Workflow& workflow) {
  WorkflowView out{.id = workflow.id,
                   .name = workflow.name,
                   .agent = workflow.agent,
                   .status = workflow.status,
                   .allowed = allowed(workflow.status),
                   .git_refs = in_column<std::vector<GitRef>>(workflow.git_refs),
                   .works = {},
                   .work_trees = {},
                   .space = {},
                   .error = workflow.error,
                   .saga_id = workflow.saga_id,
                   .integration = {},
                   .modification = {},
                   .limits = {},
                   .warning = workflow.warning,
                   .cost = {},
                   .seconds = 0,
                   .ports = workflow.ports,
                   .port_numbers = ports_of(tx, workflow.id),
                   .created_at = workflow.created_at,
                   .updated_at = workflow.updated_at,
                   .version = workflow.version};
  if (workflow.integration) out.integration = skald::from_json<IntegrationNote>(*workflow.integration);
  if (workflow.modification) out.modification = skald::from_json<ModificationNote>(*workflow.modification);
  if (workflow.limits) out.limits = skald::from_json<WorkflowLimits>(*workflow.limits);
  const Usage usage = usage_of(tx, workflow.id);
  out.cost = usage.cost;
  out.seconds = static_cast<double>(usage.milliseconds) / 1e3;
  for (const Work& work : works_of(tx, workflow.id)) out.works.push_back({work.id, work.name, work.status});
  for (const WorkTree& tree : trees_of(tx, workflow.id))
    out.work_trees.push_back({tree.git_id, tree.branch, tree.path, tree.status, tree.error, tree.work_id});
  if (const auto space = tx.find<Space>(workflow.id)) out.space = space->folder;
  return out;
}

}  // namespace agentflow
