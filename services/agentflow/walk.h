// Steps that several walks over a workflow share.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// The runs of a work's agents, also those that have ended.
void note_runs(const Work& work, std::vector<std::string>& runs);

// Says so to the agent that runs and looks until it is gone; one that is just being launched never begins. Unavailable
// (AGENT_LIVES).
void end_run(Outside& outside, const std::string& run, skald::Duration patience);

// Ends every agent of `runs` that still runs, and waits until it is gone.
void add_stop(skald::Saga<WorkflowWalk>& saga, const OutsideHandle& outside);

}  // namespace agentflow
