// Steps that several walks over a workflow share.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// Ends every agent of the workflow that may still run, and waits until it is gone.
void add_stop(skald::Saga<WorkflowWalk>& saga, const OutsideHandle& outside);

}  // namespace agentflow
