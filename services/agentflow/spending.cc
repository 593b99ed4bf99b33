#include "agentflow/spending.h"

#include "agentflow/events.h"
#include "agentflow/presets.h"
#include "agentflow/usage.h"

namespace agentflow {
namespace {

using skald::Transaction;

// Of the task alone, which its preset bounds.
std::optional<std::string> task_out_of_bounds(const Options& options, Transaction& tx, const Workflow& workflow,
                                              const Work& work, int n) {
  const Tasks tasks = in_column<Tasks>(work.tasks);
  const auto task = std::ranges::find(tasks, n, &Task::n);
  if (task == tasks.end()) return std::nullopt;
  const std::string agent = task->agent.value_or(workflow.agent);
  const Preset* const preset = find_preset(options, agent);
  if (preset == nullptr || preset->cost_max <= 0) return std::nullopt;
  const auto why = reached({.cost_max = preset->cost_max}, usage_of_task(tx, work.id, n));
  if (!why) return std::nullopt;
  return "LIMIT_REACHED: the task is at the limit of agent " + agent + " (cost_max): " + *why;
}

}  // namespace

void note_spending(const Flow& flow, Transaction& tx, const skald::Message& message) {
  const auto spent = payload_of<AgentSpent>(message);
  const auto run = run_named(spent.run);
  const auto work = run ? tx.find<Work>(run->work_id) : std::nullopt;
  const auto workflow = work ? tx.find<Workflow>(work->workflow_id) : std::nullopt;
  if (!workflow) return;
  const Options& options = flow.outside->options;
  note_usage(tx, usage_row(*work, *run, spent.cost, spent.milliseconds));
  warn_near_limit(options, tx, workflow->id);
  auto why = out_of_bounds(options, tx, *workflow);
  if (!why) why = task_out_of_bounds(options, tx, *workflow, *work, run->n);
  if (why && fail_running_task(tx, *work, *run, *why))
    flow.engine.sagas().start_in(tx, flow.sagas.stop, StopAgent{spent.run, *why}, {.key = spent.run});
}

}  // namespace agentflow
