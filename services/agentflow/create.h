// Creating a workflow: everything in it is new, so one transaction does, and nobody can be in its way.
#pragma once

#include "agentflow/flow.h"
#include "agentflow/views.h"

namespace agentflow {

WorkflowView create_workflow(const Flow& flow, skald::Transaction& tx, const NewWorkflow& asked);

// Invalid (BAD_REFERENCE) where a Git or an McpServer of the plan is not registered.
void refuse_unknown(skald::Transaction& tx, const Plan& plan);
// Invalid (NO_SUCH_AGENT).
void refuse_unknown_agents(const Flow& flow, const Plan& plan);

Tasks tasks_of(const std::vector<NewTask>& asked);

}  // namespace agentflow
