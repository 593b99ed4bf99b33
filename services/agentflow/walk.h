// Steps that several walks over a workflow share.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// The runs of a work's agents, also those that have ended.
void note_runs(const Work& work, std::vector<std::string>& runs);

// Tells an agent to end and looks until it is gone; one that is just being launched never begins. Unavailable
// (AGENT_LIVES) where it is not gone by then.
void end_run(const Outside& outside, const std::string& run, const std::string& why, skald::Duration patience);
// The same for one that has said that its task is done: it has a moment for its last words.
inline constexpr skald::Duration kLastWords = std::chrono::seconds(3);
void let_end(const Outside& outside, const std::string& run, skald::Duration patience);
// RUNNING becomes STOPPED, and its agents are noted in `walk.runs`.
void stop_work(skald::Local& step, WorkflowWalk& walk, Use& work);

// Ends every agent of `runs` that still runs, and waits until it is gone.
void add_stop(skald::Saga<WorkflowWalk>& saga, const OutsideHandle& outside);

}  // namespace agentflow
