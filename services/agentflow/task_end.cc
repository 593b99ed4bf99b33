#include "agentflow/task_end.h"

#include <charconv>

#include "agentflow/agent_places.h"
#include "agentflow/events.h"
#include "agentflow/queries.h"
#include "agentflow/questions.h"
#include "agentflow/usage.h"

namespace agentflow {
namespace {

using skald::Transaction;

constexpr int kInterruptionsMax = 3;

bool read_number(std::string_view text, int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0;
}

}  // namespace

std::string told(const skald::RunEnd& end) {
  std::string out = "its agent ";
  switch (end.outcome) {
    case skald::RunOutcome::FINISHED: out += "finished"; break;
    case skald::RunOutcome::EXITED: out += "exited with " + std::to_string(end.exit_code.value_or(0)); break;
    case skald::RunOutcome::KILLED: out += "was killed by signal " + std::to_string(end.signal.value_or(0)); break;
    case skald::RunOutcome::INTERRUPTED: out += "was interrupted"; break;
  }
  return end.why.empty() ? out : out + ": " + end.why;
}

namespace {

void note_end(Task& task, const AgentEnded& ended) {
  task.outcome = ended.end.outcome;
  task.exit_code = ended.end.exit_code;
  task.finished_at = ended.end.at;
  task.output_lost = ended.output_lost;
}

// Calls `rule` for the task where it is the one that the run was for.
void with_task(Work& work, const RunName& run, const std::function<void(Task&)>& rule) {
  edit<Tasks>(work.tasks, [&](Tasks& tasks) {
    const auto task = std::ranges::find(tasks, run.n, &Task::n);
    if (task != tasks.end() && task->attempt == run.attempt && !task->finished_at) rule(*task);
  });
}

enum class Ending { ignored, stopped, again, failed };

// All ends but a good one.
Ending end_badly(Work& work, const RunName& run, const AgentEnded& ended, int asked, std::optional<Task>& failed) {
  Ending ending = Ending::ignored;
  with_task(work, run, [&](Task& task) {
    note_end(task, ended);
    if (work.status != WorkStatus::RUNNING || task.status != TaskStatus::RUNNING) {
      ending = Ending::stopped;
    } else if (ended.end.outcome == skald::RunOutcome::INTERRUPTED && task.attempt - asked < kInterruptionsMax) {
      ending = Ending::again;
      task.status = TaskStatus::PENDING;
    } else {
      ending = Ending::failed;
      task.status = TaskStatus::FAILED;
      task.error = told(ended.end);
      failed = task;
    }
  });
  if (ending == Ending::failed) work.agent_status = AgentStatus::ERROR;
  else if (ending != Ending::ignored) work.agent_status = AgentStatus::IDLE;
  return ending;
}

// At a limit of the workflow no task begins: the one that would is failed in its place.
bool refuse_beyond_limits(const Flow& flow, Transaction& tx, const Work& work, int n) {
  const auto workflow = tx.find<Workflow>(work.workflow_id);
  const auto why = workflow ? out_of_bounds(flow.outside->options, tx, *workflow) : std::nullopt;
  if (!why) return false;
  std::optional<Task> failed;
  const Work now = skald::change<Work>(tx, work.id, [&](Work& row) {
    edit<Tasks>(row.tasks, [&](Tasks& tasks) {
      Task& task = *std::ranges::find(tasks, n, &Task::n);
      task.status = TaskStatus::FAILED;
      task.error = *why;
      failed = task;
    });
  });
  say(tx, kAgentError, now, *failed);
  return true;
}

bool runs_well(const Work& work, const RunName& run) {
  const Tasks tasks = in_column<Tasks>(work.tasks);
  const auto task = std::ranges::find(tasks, run.n, &Task::n);
  return work.status == WorkStatus::RUNNING && task != tasks.end() && task->attempt == run.attempt &&
         task->status == TaskStatus::RUNNING;
}

// Its agent has asked a person and left: the task begins anew when there is an answer.
bool end_by_question(const Flow& flow, Transaction& tx, const Work& work, const RunName& run, const AgentEnded& ended) {
  const auto question = question_that_ended(tx, ended.run);
  if (!question || !runs_well(work, run)) return false;
  skald::change<Work>(tx, work.id, [&](Work& row) {
    with_task(row, run, [&](Task& task) {
      if (row.status != WorkStatus::RUNNING || task.status != TaskStatus::RUNNING) return;
      note_end(task, ended);
      task.status = TaskStatus::PENDING;
      row.agent_status = AgentStatus::IDLE;
    });
  });
  if (question->status == QuestionStatus::ANSWERED) begin_task(flow, tx, work.id);
  return true;
}

}  // namespace

std::optional<RunName> run_named(std::string_view run) {
  const std::size_t last = run.rfind('.');
  const std::size_t middle = last == run.npos || last == 0 ? run.npos : run.rfind('.', last - 1);
  if (middle == run.npos || middle == 0) return std::nullopt;
  RunName out{std::string(run.substr(0, middle)), 0, 0};
  if (!read_number(run.substr(middle + 1, last - middle - 1), out.n)) return std::nullopt;
  if (!read_number(run.substr(last + 1), out.attempt)) return std::nullopt;
  return out;
}

std::optional<std::string> work_of_run(std::string_view run) {
  if (const auto name = run_named(run)) return name->work_id;
  const auto query = query_of_run(run);
  return query ? std::optional(query->substr(0, query->rfind('.'))) : std::nullopt;
}

std::string to_text(const RunName& run) {
  return run.work_id + "." + std::to_string(run.n) + "." + std::to_string(run.attempt);
}

bool fail_running_task(Transaction& tx, const Work& work, const RunName& run, const std::string& why) {
  std::optional<Task> failed;
  const Work now = skald::change<Work>(tx, work.id, [&](Work& row) {
    failed.reset();
    if (row.status != WorkStatus::RUNNING) return;
    with_task(row, run, [&](Task& task) {
      if (task.status != TaskStatus::RUNNING) return;
      task.status = TaskStatus::FAILED;
      task.error = why;
      failed = task;
    });
    if (failed) row.agent_status = AgentStatus::STOPPING;
  });
  if (failed) say(tx, kAgentError, now, *failed);
  return failed.has_value();
}

void begin_task(const Flow& flow, Transaction& tx, const std::string& work_id) {
  const auto work = tx.find<Work>(work_id);
  if (!work || work->status != WorkStatus::RUNNING) return;
  const Tasks tasks = in_column<Tasks>(work->tasks);
  const auto task = std::ranges::find(tasks, TaskStatus::PENDING, &Task::status);
  if (task == tasks.end()) return;
  if (refuse_beyond_limits(flow, tx, *work, task->n)) return;
  flow.engine.sagas().start_in(
      tx, flow.sagas.task, RunTask{.workflow_id = work->workflow_id, .work_id = work->id, .n = task->n},
      {.key = work->id + "." + std::to_string(task->n) + "." + std::to_string(task->attempt + 1)});
}

bool complete_task(Transaction& tx, const std::string& work_id, int n, const std::function<void(Task&)>& note) {
  std::optional<Task> done;
  bool last = false;
  const Work work = skald::change<Work>(tx, work_id, [&](Work& row) {
    done.reset();
    if (row.status != WorkStatus::RUNNING) return;
    edit<Tasks>(row.tasks, [&](Tasks& tasks) {
      const auto task = std::ranges::find(tasks, n, &Task::n);
      if (task == tasks.end() || task->status != TaskStatus::RUNNING) return;
      task->status = TaskStatus::COMPLETED;
      note(*task);
      done = *task;
      last = std::ranges::all_of(tasks, [](const Task& one) { return one.status == TaskStatus::COMPLETED; });
    });
    if (!done) return;
    row.agent_status = AgentStatus::IDLE;
    if (last) row.status = WorkStatus::COMPLETED;
  });
  if (!done) return false;
  if (last) {
    say(tx, kWorkStatusChanged, work);
    say(tx, kWorkCompleted, work);
  } else {
    say(tx, kTaskCompleted, work, *done);
  }
  return true;
}

void end_task(const Flow& flow, Transaction& tx, const skald::Message& message) {
  const auto ended = payload_of<AgentEnded>(message);
  if (query_of_run(ended.run)) return end_query(flow, tx, ended.run, ended.end);
  const auto run = run_named(ended.run);
  const auto work = run ? tx.find<Work>(run->work_id) : std::nullopt;
  if (!work) return;
  free_places(tx, work->workflow_id,
              [&](const std::string& kind, const std::string& name) { flow.engine.sagas().freed(tx, kind, name); });
  if (ended.milliseconds) {
    note_usage(tx, usage_row(*work, *run, ended.cost, *ended.milliseconds));
    warn_near_limit(flow.outside->options, tx, work->workflow_id);
  }
  if (ended.end.outcome == skald::RunOutcome::FINISHED && runs_well(*work, *run))
    note_question_in_output(flow, tx, *work, run->n, ended.run);
  withdraw_questions_of_run(tx, ended.run, runs_well(*work, *run));
  if (end_by_question(flow, tx, *work, *run, ended)) return;
  if (ended.end.outcome == skald::RunOutcome::FINISHED && runs_well(*work, *run)) {
    complete_task(tx, work->id, run->n, [&](Task& task) { note_end(task, ended); });
    return;
  }
  Ending ending{};
  std::optional<Task> failed;
  const int asked = runs_that_asked(tx, work->id, run->n);
  const Work now = skald::change<Work>(tx, work->id, [&](Work& row) {
    failed.reset();
    ending = end_badly(row, *run, ended, asked, failed);
  });
  if (failed) say(tx, kAgentError, now, *failed);
  if (ending == Ending::again) begin_task(flow, tx, now.id);
}

}  // namespace agentflow
