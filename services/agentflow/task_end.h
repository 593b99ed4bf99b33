// Beginning and ending tasks.
#pragma once

#include "agentflow/flow.h"
#include "skald/bus.h"

namespace agentflow {

// "WORK.TASK.ATTEMPT"; none where it is no run of this service.
struct RunName {
  std::string work_id;
  int n = 0, attempt = 0;
};
std::optional<RunName> run_named(std::string_view run);
std::string to_text(const RunName& run);

// The work that the run is of, also where the run answers a query: "WORK.qK.ATTEMPT".
std::optional<std::string> work_of_run(std::string_view run);

// The first task of the work that waits, if the work runs.
void begin_task(const Flow& flow, skald::Transaction& tx, const std::string& work_id);

// "its agent exited with 3".
std::string told(const skald::RunEnd& end);

// A run has ended (AgentEnded): the task is done, failed, or run again where the machine went down under it.
void end_task(const Flow& flow, skald::Transaction& tx, const skald::Message& message);

// The task has failed while its agent runs; the work hears of it. False where that run is not the task's, or it does not
// run. Whoever calls this ends the agent.
bool fail_running_task(skald::Transaction& tx, const Work& work, const RunName& run, const std::string& why);

// The task is done, by its agent's exit or by word: the next one, or the work's completion, follows by events. False
// where the task does not run.
bool complete_task(skald::Transaction& tx, const std::string& work_id, int n, const std::function<void(Task&)>& note);

}  // namespace agentflow
