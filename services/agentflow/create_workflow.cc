#include "agentflow/create.h"
#include "agentflow/events.h"
#include "agentflow/presets.h"
#include "skald/id.h"

namespace agentflow {
namespace {

using skald::Transaction;

constexpr const char* kShell = "shell";

Plan plan_of(Transaction& tx, const NewWorkflow& asked) {
  if (asked.template_id.has_value() == (asked.git_refs.has_value() || asked.works.has_value()))
    throw skald::Invalid("BAD_WORKFLOW", "a workflow has either a templateId, or gitRefs and works");
  if (!asked.template_id)
    return {asked.agent, asked.git_refs.value_or(std::vector<GitRef>{}), asked.works.value_or(std::vector<NewWork>{}),
            asked.ports};
  const auto row = tx.find<Template>(*asked.template_id);
  if (!row) throw skald::NotFound("TEMPLATE_NOT_FOUND", "there is no template with this id");
  Plan plan = in_column<Plan>(row->body);
  if (asked.agent) plan.agent = asked.agent;
  if (asked.ports) plan.ports = asked.ports;
  return plan;
}

Work work_of(const Workflow& workflow, const std::string& id, std::int64_t position, const NewWork& asked) {
  return {.id = id,
          .workflow_id = workflow.id,
          .name = asked.name,
          .position = position,
          .mcp_server_refs = as_column(asked.mcp_server_refs.value_or(Ids{})),
          .tasks = as_column(tasks_of(asked.tasks)),
          .wants_report = asked.wants_report.value_or(false),
          .parallel = asked.parallel,
          .error = {},
          .version = 0};
}

}  // namespace

Tasks tasks_of(const std::vector<NewTask>& asked) {
  Tasks tasks;
  for (const NewTask& task : asked)
    tasks.push_back({.n = static_cast<int>(tasks.size()) + 1, .prompt = task.prompt, .agent = task.agent});
  return tasks;
}

void refuse_unknown_agents(const Flow& flow, const Plan& plan) {
  const auto refuse_unknown_agent = [&](const std::string& name) {
    if (!has_preset(flow.outside->options, name))
      throw skald::Invalid("NO_SUCH_AGENT", "there is no agent " + name + "; GET /agentflow/agents lists them");
  };
  refuse_unknown_agent(plan.agent.value_or(kShell));
  for (const NewWork& work : plan.works)
    for (const NewTask& task : work.tasks)
      if (task.agent) refuse_unknown_agent(*task.agent);
}

void refuse_unknown(Transaction& tx, const Plan& plan) {
  for (const GitRef& ref : plan.git_refs)
    if (!tx.find<Git>(ref.git_id)) throw skald::Invalid("BAD_REFERENCE", "there is no git " + ref.git_id);
  for (const NewWork& work : plan.works)
    for (const std::string& id : work.mcp_server_refs.value_or(Ids{}))
      if (!tx.find<McpServer>(id)) throw skald::Invalid("BAD_REFERENCE", "there is no MCP server " + id);
}

WorkflowView create_workflow(const Flow& flow, Transaction& tx, const NewWorkflow& asked) {
  check_name(asked.name);
  const Plan plan = plan_of(tx, asked);
  check(plan);
  refuse_unknown(tx, plan);
  refuse_unknown_agents(flow, plan);
  if (asked.limits) check(*asked.limits);
  Workflow workflow{.id = skald::make_id(tx.now(), flow.env.random),
                    .name = asked.name,
                    .agent = plan.agent.value_or(kShell),
                    .git_refs = as_column(plan.git_refs),
                    .error = {},
                    .saga_id = {},
                    .limits = asked.limits ? std::optional(skald::to_json(*asked.limits)) : std::nullopt,
                    .ports = plan.ports.value_or(0),
                    .created_at = tx.now(),
                    .updated_at = tx.now(),
                    .version = 0};
  Ids ids;
  WorkStatuses statuses;
  for (const NewWork& wanted : plan.works) {
    const Work work =
        work_of(workflow, skald::make_id(tx.now(), flow.env.random), static_cast<std::int64_t>(ids.size()) + 1, wanted);
    tx.insert(work);
    if (work.wants_report) tx.insert(Report{work.id, workflow.id, {}, 0});
    ids.push_back(work.id);
    statuses[work.id] = work.status;
  }
  workflow.work_ids = as_column(ids);
  workflow.work_statuses = as_column(statuses);
  tx.insert(workflow);
  tx.insert(Story{workflow.id, 0, 0});
  say(tx, kWorkflowCreated, workflow);
  return view_of(tx, workflow);
}

}  // namespace agentflow
