// Steps that several walks over a workflow share.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// The runs of a work's agents, also those that have ended.
void note_runs(const Work& work, std::vector<std::string>& runs);

// RUNNING becomes STOPPED, and its agents are noted in `walk.runs`.
void stop_work(skald::Local& step, WorkflowWalk& walk, Use& work);

// Ends every agent of `runs` that still runs, and waits until it is gone.
void add_stop(skald::Saga<WorkflowWalk>& saga, const OutsideHandle& outside);

}  // namespace agentflow
