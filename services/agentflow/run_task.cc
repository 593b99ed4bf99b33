// Running a task: one process of an agent, under a supervisor that outlives this one. Its end comes as an event.
#include "agentflow/agent_launch.h"
#include "agentflow/agent_places.h"
#include "agentflow/brief.h"
#include "agentflow/checkpoints.h"
#include "agentflow/events.h"
#include "agentflow/mcp_file.h"
#include "agentflow/presets.h"
#include "agentflow/questions.h"
#include "agentflow/task_end.h"
#include "agentflow/use.h"
#include "agentflow/walk.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

constexpr skald::Duration kEndMax = 30s;  // of an agent that was told to end

// Whether it is still to run: the work may have been stopped, or the task have begun, since this was asked for.
bool is_due(const std::optional<Work>& work, int n) {
  if (!work || work->status != WorkStatus::RUNNING || work->agent_status != AgentStatus::IDLE) return false;
  const Tasks tasks = in_column<Tasks>(work->tasks);
  const auto task = std::ranges::find(tasks, n, &Task::n);
  return task != tasks.end() && task->status == TaskStatus::PENDING;
}

void assign(const Outside& outside, Local& step, RunTask& run) {
  run.run.clear();
  if (!is_due(step->find<Work>(run.work_id), run.n) || waits_for_answer(step.tx(), run.work_id, run.n)) return;
  const Workflow workflow = skald::found<Workflow>(step.tx(), run.workflow_id);
  refuse_without_place(outside, step.tx(), workflow);
  const Work work = skald::change<Work>(step.tx(), run.work_id, [&](Work& row) {
    row.agent_status = AgentStatus::STARTING;
    edit<Tasks>(row.tasks, [&](Tasks& tasks) {
      Task& task = *std::ranges::find(tasks, run.n, &Task::n);
      task.status = TaskStatus::RUNNING;
      run.attempt = ++task.attempt;
      run.interrupted = task.outcome == skald::RunOutcome::INTERRUPTED;
      task.run = run.work_id + "." + std::to_string(run.n) + "." + std::to_string(task.attempt);
      task.outcome.reset(), task.exit_code.reset(), task.error.reset(), task.finished_at.reset();
      task.output_lost.reset();
      task.started_at = step->now();
      run.run_before = run.n > 1 ? std::ranges::find(tasks, run.n - 1, &Task::n)->run : std::nullopt;
      run.run = *task.run, run.prompt = task.prompt, run.agent = task.agent.value_or(workflow.agent);
    });
  });
  run.attempt -= runs_that_asked(step.tx(), run.work_id, run.n);
  run.prompt = with_answers(run.prompt, answered_questions(step.tx(), run.work_id, run.n), run.agent == "shell");
  run.space = outside.space_of(run.workflow_id);
  const Preset* const preset = find_preset(outside.options, run.agent);
  run.trees.clear();
  if (preset != nullptr && preset->restore_before_retry) run.trees = trees_in_use(step.tx(), work);
  run.mcp_servers = in_column<Ids>(work.mcp_server_refs);
  run.ports = ports_of(step.tx(), run.workflow_id);
  run.folder = work.folder.value_or(run.space);
}

// It did not come up: its task has failed, and the work hears of it as of any other failure.
void fail_task(Local& step, RunTask& run) {
  if (run.run.empty()) return;
  const auto why = step.context().failure;
  std::optional<Task> failed;
  const Work work = skald::change<Work>(step.tx(), run.work_id, [&](Work& row) {
    failed.reset();
    edit<Tasks>(row.tasks, [&](Tasks& tasks) {
      const auto task = std::ranges::find(tasks, run.n, &Task::n);
      if (task == tasks.end() || task->run != run.run || task->status != TaskStatus::RUNNING) return;
      task->status = TaskStatus::FAILED;
      task->error = why ? why->code + ": " + why->message : "it was given up by an operator";
      task->finished_at = step->now();
      failed = *task;
    });
    if (failed) row.agent_status = AgentStatus::ERROR;
  });
  if (failed) say(step.tx(), kAgentError, work, *failed);
  free_places(step.tx(), run.workflow_id,
              [&](const std::string& kind, const std::string& name) { step.freed(kind, name); });
}

// Whether the work still runs this attempt. It may have been stopped since it was assigned, and who stopped it found
// nothing to end yet.
bool is_wanted(skald::Database& db, const RunTask& run) {
  return db.read_result([&](skald::Transaction& tx) {
    const auto work = tx.find<Work>(run.work_id);
    if (!work || work->status != WorkStatus::RUNNING) return false;
    const Tasks tasks = in_column<Tasks>(work->tasks);
    const auto task = std::ranges::find(tasks, run.n, &Task::n);
    return task != tasks.end() && task->run == run.run && task->status == TaskStatus::RUNNING;
  });
}

// The worktrees as this run finds them are kept under its name. What an interrupted run has left in them is removed
// before: they become what they were when that one began, works and tasks before it included. Each call of git finds
// done what is done, and nothing has begun yet that a repetition could disturb.
void prepare(Outside& outside, skald::Database& db, RunTask& run, skald::Duration patience) {
  if (!is_wanted(db, run)) return;
  RunName name = run_named(run.run).value();
  --name.attempt;
  const std::string before = to_text(name);
  if (run.run_before) let_end(outside, *run.run_before, kEndMax);
  if (name.attempt > 0) end_run(outside, before, "its task begins anew", patience);
  for (TreePlan& tree : run.trees)
    ask_git([&] {
      if (run.interrupted) {
        take_checkpoint(outside, run.workflow_id, before, tree);  // it is there, and stays what it was
        outside.options.repositories->restore_checkpoint({tree.repository, tree.path, tree.branch}, tree.commit);
      }
      take_checkpoint(outside, run.workflow_id, run.run, tree);
    });
}

void launch(Outside& outside, skald::Database& db, RunTask& run) {
  if (!is_wanted(db, run)) return;
  if (const auto seen = outside.agents().look(run.run); seen && (seen->pid != 0 || seen->end)) return;
  const std::string mcp_file = run.space + "/" + run.work_id + ".mcp.json";
  // Without a server of ours nobody writes to it.
  const std::string mailbox = outside.options.program.empty() ? "" : mailbox_path(run.space, run.run);
  if (!mailbox.empty()) fill_mailbox(outside, db, run);
  write_mcp_file(outside, db, run.mcp_servers, run.folder, mailbox, mcp_file);
  const Assignment assignment{.run = run.run,
                              .agent = run.agent,
                              .prompt = run.prompt,
                              .folder = run.folder,
                              .space = run.space,
                              .mcp_file = mcp_file,
                              .workflow_id = run.workflow_id,
                              .work_id = run.work_id,
                              .mailbox = mailbox,
                              .n = run.n,
                              .attempt = run.attempt,
                              .ports = run.ports};
  try {
    run.note = launch_agent(outside, db, assignment, run.mcp_servers);
    if (!is_wanted(db, run)) outside.agents().stop(run.run, "its work was stopped while it was being started");
  } catch (const skald::Unavailable& away) {
    if (!outside.agents().look(run.run)) throw;  // it was not even asked for: the disk is full, say
    throw skald::CommitUnknown(away.code(), away.what());  // it may run: who gives the task up has to end it
  }
}

void announce_start(Local& step, RunTask& run) {
  say(step.tx(), kAgentStarted, run.work_id, run.work_id,
      TaskEvent{run.workflow_id, run.work_id, run.n, run.run, std::nullopt, run.note});
}

}  // namespace

skald::Saga<RunTask> task_saga(const OutsideHandle& outside, skald::Database& db) {
  const auto runs = [](const RunTask& run) { return !run.run.empty(); };
  return skald::Saga<RunTask>("agentflow.task")
      .local("assign", [outside](Local& step, RunTask& run) { assign(*outside, step, run); })
      .undo(fail_task)
      .writes("work", Guard::idempotency_key)  // the run's name: another attempt is left alone
      .reads("plan")
      .remote("prepare", [outside, &db](Remote& step, RunTask& run) { prepare(*outside, db, run, step.timeout()); })
      .nothing_to_undo()
      .when(runs)
      .retry(3, 500ms)
      .timeout(120s)
      .remote("launch", [outside, &db](Remote&, RunTask& run) { launch(*outside, db, run); })
      .undo([outside](Remote&, RunTask& run) { outside->agents().stop(run.run, "its task was given up"); })
      .when(runs)
      .retry(3, 500ms)
      .timeout(120s)
      .local("announce", announce_start)
      .nothing_to_undo()
      .when(runs);
}

skald::Saga<StopAgent> stop_saga(const OutsideHandle& outside) {
  return skald::Saga<StopAgent>("agentflow.stop-agent")
      .remote("stop", [outside](Remote&, StopAgent& agent) { outside->agents().stop(agent.run, agent.why); })
      .forward_only();
}

}  // namespace agentflow
