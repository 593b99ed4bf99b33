// What agents say through their mailboxes, and what follows from it.
#include "agentflow/events.h"
#include "agentflow/presets.h"
#include "agentflow/queries.h"
#include "agentflow/questions.h"
#include "agentflow/task_end.h"

namespace agentflow {
namespace {

using skald::Message;
using skald::Transaction;

// Whether this request is new; it has been heard from here on.
bool is_first_hearing(Transaction& tx, const Work& work, const AgentSaid& said) {
  const auto note = tx.find<MailboxNote>(said.run);
  if (!note) {
    tx.insert(MailboxNote{said.run, work.workflow_id, said.n, 0});
    return true;
  }
  if (note->heard >= said.n) return false;
  skald::change<MailboxNote>(tx, said.run, [&](MailboxNote& row) { row.heard = said.n; });
  return true;
}

void complete_by_agent(const Flow& flow, Transaction& tx, const Work& work, const Task& task) {
  const bool done = complete_task(tx, work.id, task.n, [&](Task& one) {
    one.outcome = skald::RunOutcome::FINISHED;
    one.finished_at = tx.now();
  });
  if (!done) return;
  flow.engine.sagas().start_in(tx, flow.sagas.dismiss, StopAgent{*task.run, "it has completed its task"},
                               {.key = *task.run});
}

void ask_by_agent(const Flow& flow, Transaction& tx, const Work& work, const Task& task, const AgentSaid& said) {
  const Options& options = flow.outside->options;
  const Workflow workflow = skald::found<Workflow>(tx, work.workflow_id);
  const std::string agent = task.agent.value_or(workflow.agent);
  const OnQuestion mode = has_preset(options, agent) ? preset_of(options, agent).on_question : OnQuestion::wait;
  ask_person(flow, tx, work, task, said.n, said.request.text, mode);
}

// One whose task no longer runs is not listened to, but for what it has found out.
void hear_agent(const Flow& flow, Transaction& tx, const Message& message) {
  const auto said = payload_of<AgentSaid>(message);
  const auto run = run_named(said.run);
  const auto work = run ? tx.find<Work>(run->work_id) : std::nullopt;
  if (!work || !is_first_hearing(tx, *work, said)) return;
  const AgentRequest& request = said.request;
  if (request.kind == RequestKind::report) {
    keep_report(tx, work->id, request.text);
    return;
  }
  if (request.kind == RequestKind::answer) {
    const auto query = tx.find<Query>(request.query.value_or(""));
    if (query && query->work_id == work->id && query->status == QueryStatus::SENT) respond(tx, query->id, request.text);
    return;
  }
  const Tasks tasks = in_column<Tasks>(work->tasks);
  const auto task = std::ranges::find(tasks, run->n, &Task::n);
  if (work->status != WorkStatus::RUNNING || task == tasks.end() || task->run != said.run ||
      task->status != TaskStatus::RUNNING)
    return;
  if (request.kind == RequestKind::complete) complete_by_agent(flow, tx, *work, *task);
  else ask_by_agent(flow, tx, *work, *task, said);
}

void begin_sent_query(const Flow& flow, Transaction& tx, const Message& message) {
  const auto query = tx.find<Query>(payload_of<AskEvent>(message).id);
  if (query && query->status == QueryStatus::SENT) begin_query(flow, tx, *query);
}

// No agent of the work will read them any more: they get their own.
void begin_left_queries(const Flow& flow, Transaction& tx, const Message& message) {
  const auto event = payload_of<WorkEvent>(message);
  if (event.status == WorkStatus::RUNNING || event.status == WorkStatus::PENDING) return;
  for (const Query& query : sent_queries(tx, event.work_id)) begin_query(flow, tx, query);
}

}  // namespace

void add_ask_consumers(const FlowHandle& flow) {
  const auto hear = [&](std::string_view name, std::string_view type, auto handle) {
    flow->engine.consume({.name = std::string(name),
                          .type = std::string(type),
                          .handle = [flow, handle](Transaction& tx, const Message& message) {
                            handle(*flow, tx, message);
                            tx.after_commit([flow] { flow->outside->options.publish(kTopic); });
                          }});
  };
  hear(kAgentSaid, kAgentSaid, hear_agent);
  hear(kQuerySent, kQuerySent, begin_sent_query);
  hear("agentflow.left-queries", kWorkStatusChanged, begin_left_queries);
}

}  // namespace agentflow
