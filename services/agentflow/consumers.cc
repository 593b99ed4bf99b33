// Who hears of which event, and what happens then. Each is idempotent twice over: the engine calls it once per event, and
// it looks at the state before it changes anything.
#include "agentflow/events.h"
#include "agentflow/listing.h"
#include "agentflow/spending.h"
#include "agentflow/task_end.h"
#include "agentflow/trees.h"

namespace agentflow {
namespace {

using skald::Message;
using skald::Transaction;

void begin_next(const Flow& flow, Transaction& tx, const Message& message) {
  const auto event = payload_of<WorkflowEvent>(message);
  flow.engine.sagas().start_in(
      tx, flow.sagas.next, NextWork{event.workflow_id},
      {.key = event.workflow_id, .on_duplicate = skald::OnDuplicate::allow, .traceparent = message.event.traceparent});
}

// Both hold of one saga: the checkpoint first, then the next work.
void advance(const Flow& flow, Transaction& tx, const Message& message) {
  const auto event = payload_of<WorkEvent>(message);
  flow.engine.sagas().start_in(tx, flow.sagas.advance, Advance{event.workflow_id, event.work_id},
                               {.key = event.work_id, .traceparent = message.event.traceparent});
}

// Each by itself: one that found the group not complete any more may still be ending.
void join(const Flow& flow, Transaction& tx, const Message& message) {
  const auto event = payload_of<WorkflowEvent>(message);
  flow.engine.sagas().start_in(
      tx, flow.sagas.join, JoinWorks{event.workflow_id},
      {.key = event.workflow_id, .on_duplicate = skald::OnDuplicate::allow, .traceparent = message.event.traceparent});
}

void release(const Flow& flow, Transaction& tx, const Message& message) {
  const auto event = payload_of<WorkflowEvent>(message);
  flow.engine.sagas().start_in(tx, flow.sagas.release, WorkflowWalk{.workflow_id = event.workflow_id},
                               {.key = event.workflow_id, .traceparent = message.event.traceparent});
}

void begin_work(const Flow& flow, Transaction& tx, const Message& message) {
  begin_task(flow, tx, payload_of<WorkEvent>(message).work_id);
}

void begin_next_task(const Flow& flow, Transaction& tx, const Message& message) {
  begin_task(flow, tx, payload_of<TaskEvent>(message).work_id);
}

// Worktrees that a modification has taken out are in use until the work has ended. Where it ends well, the next work
// settles them.
void settle_after(const Flow& flow, Transaction& tx, const Workflow& workflow, WorkStatus status) {
  const bool ended_badly =
      status == WorkStatus::FAILED || status == WorkStatus::STOPPED || status == WorkStatus::CANCELLED;
  if (!ended_badly || !has_unsettled_trees(tx, workflow)) return;
  flow.engine.sagas().start_in(tx, flow.sagas.settle, SettleTrees{workflow.id, {}, {}},
                               {.key = workflow.id, .on_duplicate = skald::OnDuplicate::allow});
}

void note_work_status(const Flow& flow, Transaction& tx, const Message& message) {
  const auto event = payload_of<WorkEvent>(message);
  if (!tx.find<Workflow>(event.workflow_id)) return;
  bool fails = false;
  const Workflow workflow = skald::change<Workflow>(tx, event.workflow_id, [&](Workflow& row) {
    edit<WorkStatuses>(row.work_statuses, [&](WorkStatuses& all) { all[event.work_id] = event.status; });
    row.updated_at = tx.now();
    fails = event.status == WorkStatus::FAILED && allows(row.status, WorkflowMove::work_failed);
    if (!fails) return;
    row.status = after(row.status, WorkflowMove::work_failed);
    row.error = event.error;
  });
  if (fails) say(tx, kWorkflowFailed, workflow);
  settle_after(flow, tx, workflow, event.status);
}

// An older version than the one that was heard of is no news: release and creation may follow each other. A work's own
// worktree is not the workflow's.
void note_tree_status(Transaction& tx, const Message& message) {
  const auto event = payload_of<TreeEvent>(message);
  if (event.work_id || !tx.find<Workflow>(event.workflow_id)) return;
  skald::change<Workflow>(tx, event.workflow_id, [&](Workflow& row) {
    edit<TreeNotes>(row.work_tree_statuses, [&](TreeNotes& notes) {
      const auto known = notes.find(event.git_id);
      if (known != notes.end() && known->second.version > event.version) return;
      if (event.gone) notes.erase(event.git_id);
      else notes[event.git_id] = {event.status, event.version};
    });
  });
}

// One that nobody waits for any more is ended.
void note_agent(const Flow& flow, Transaction& tx, const Message& message) {
  const auto event = payload_of<TaskEvent>(message);
  const auto work = tx.find<Work>(event.work_id);
  const auto wanted = [&](const Work& row) {
    const Tasks tasks = in_column<Tasks>(row.tasks);
    const auto task = std::ranges::find(tasks, event.n, &Task::n);
    return row.status == WorkStatus::RUNNING && task != tasks.end() && task->run == event.run &&
           task->status == TaskStatus::RUNNING;
  };
  if (!work || !wanted(*work)) {
    flow.engine.sagas().start_in(tx, flow.sagas.stop, StopAgent{event.run, "its work no longer runs"},
                                 {.key = event.run});
    return;
  }
  skald::change<Work>(tx, event.work_id, [&](Work& row) {
    if (wanted(row) && row.agent_status == AgentStatus::STARTING) row.agent_status = AgentStatus::RUNNING;
  });
}

// It fails the work; that the workflow fails is told by the work's own event.
void fail_work(Transaction& tx, const Message& message) {
  const auto event = payload_of<TaskEvent>(message);
  const auto work = tx.find<Work>(event.work_id);
  if (!work || work->status != WorkStatus::RUNNING) return;
  bool failed = false;
  const Work now = skald::change<Work>(tx, event.work_id, [&](Work& row) {
    failed = row.status == WorkStatus::RUNNING;
    if (!failed) return;
    row.status = WorkStatus::FAILED;
    row.error = "task " + std::to_string(event.n) + ": " + event.error.value_or("its agent failed");
  });
  if (failed) say(tx, kWorkStatusChanged, now);
}

// Those that nobody acts on are a part of the history all the same.
void only_note(Transaction&, const Message&) {}

void tell_watchers(const FlowHandle& flow, Transaction& tx, const Message& message) {
  const auto subject = subject_of(tx, message);
  if (subject) append_history(tx, subject->workflow_id, message);
  tx.after_commit([flow, subject] {
    const auto& publish = flow->outside->options.publish;
    publish(kTopic);
    if (!subject) return;
    flow->watching->changed(*subject);
    publish(story_topic(subject->workflow_id));
    publish(kOutputTopic);
  });
}

void forget(const Flow& flow, Transaction& tx, const Message& message) {
  const auto gone = payload_of<Gone>(message);
  flow.engine.sagas().start_in(tx, flow.sagas.forget, ForgetReference{gone.id, gone.folder, {}}, {.key = gone.id});
}

}  // namespace

void add_consumers(const FlowHandle& flow) {
  const auto hear = [&](std::string_view type, std::function<void(const Flow&, Transaction&, const Message&)> handle) {
    flow->engine.consume({.name = std::string(type),
                          .type = std::string(type),
                          .handle = [flow, handle](Transaction& tx, const Message& message) {
                            handle(*flow, tx, message);
                            tell_watchers(flow, tx, message);
                          }});
  };
  const auto without_flow = [](void (*handle)(Transaction&, const Message&)) {
    return [handle](const Flow&, Transaction& tx, const Message& message) { handle(tx, message); };
  };
  hear(kWorkflowStarted, begin_next);
  hear(kWorkflowResumed, begin_next);
  hear(kWorkCompleted, advance);
  hear(kGroupCompleted, join);
  hear(kGroupJoined, begin_next);
  hear(kWorksUpdated, begin_next);
  hear(kWorkflowCompleted, release);
  hear(kWorkflowCancelled, release);
  hear(kWorkStarted, begin_work);
  hear(kWorkStatusChanged, note_work_status);
  hear(kTreeCreated, without_flow(note_tree_status));
  hear(kTreeStatusChanged, without_flow(note_tree_status));
  hear(kAgentStarted, note_agent);
  hear(kAgentEnded, end_task);
  hear(kAgentSpent, note_spending);
  hear(kAgentError, without_flow(fail_work));
  hear(kTaskCompleted, begin_next_task);
  for (const std::string_view type :
       {kWorkflowCreated, kWorkflowPaused, kWorkflowFailed, kWorkflowDeleted, kCheckpointCreated})
    hear(type, without_flow(only_note));
  hear(kGitDeleted, forget);
  hear(kMcpUnregistered, forget);
}

}  // namespace agentflow
