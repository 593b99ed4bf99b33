// What happens in this service, as others hear of it; the table of docs/agentflow.md says who does what then.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agentflow/mailbox.h"
#include "agentflow/record.h"
#include "skald/bus.h"
#include "skald/database.h"

namespace agentflow {

inline constexpr std::string_view kGitCreated = "agentflow.git-created", kGitDeleted = "agentflow.git-deleted",
                                  kMcpRegistered = "agentflow.mcp-server-registered",
                                  kMcpUnregistered = "agentflow.mcp-server-unregistered",
                                  kWorkflowCreated = "agentflow.workflow-created",
                                  kWorkflowStarted = "agentflow.workflow-started",
                                  kWorkflowPaused = "agentflow.workflow-paused",
                                  kWorkflowResumed = "agentflow.workflow-resumed",
                                  kWorkflowFailed = "agentflow.workflow-failed",
                                  kWorkflowCompleted = "agentflow.workflow-completed",
                                  kWorkflowCancelled = "agentflow.workflow-cancelled",
                                  kWorkflowDeleted = "agentflow.workflow-deleted",
                                  kGitRefsUpdated = "agentflow.workflow-git-refs-updated",
                                  kWorksUpdated = "agentflow.workflow-works-updated",
                                  kWorkflowNearLimit = "agentflow.workflow-near-limit",
                                  kAgentSpent = "agentflow.agent-spent", kWorkStarted = "agentflow.work-started",
                                  kWorkStatusChanged = "agentflow.work-status-changed",
                                  kWorkCompleted = "agentflow.work-completed",
                                  kGroupCompleted = "agentflow.group-completed",
                                  kGroupJoined = "agentflow.group-joined", kTreeCreated = "agentflow.work-tree-created",
                                  kTreeStatusChanged = "agentflow.work-tree-status-changed",
                                  kCheckpointCreated = "agentflow.checkpoint-created",
                                  kAgentStarted = "agentflow.agent-started", kAgentEnded = "agentflow.agent-ended",
                                  kAgentError = "agentflow.agent-error", kTaskCompleted = "agentflow.task-completed",
                                  kAgentSaid = "agentflow.agent-said", kReportCompleted = "agentflow.report-completed",
                                  kQuestionAsked = "agentflow.question-asked",
                                  kQuestionSettled = "agentflow.question-settled", kQuerySent = "agentflow.query-sent",
                                  kQueryResponded = "agentflow.query-responded";

struct WorkflowEvent {
  std::string workflow_id;
  WorkflowStatus status{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(WorkflowEvent, (), (workflow_id, status, version))

struct WorkEvent {
  std::string workflow_id, work_id;
  WorkStatus status{};
  std::int64_t version = 0;
  std::optional<std::string> error;
};
BOOST_DESCRIBE_STRUCT(WorkEvent, (), (workflow_id, work_id, status, version, error))

struct TreeEvent {
  std::string workflow_id, git_id;
  TreeStatus status{};
  std::int64_t version = 0;
  bool gone = false;
  std::optional<std::string> work_id = {};
};
BOOST_DESCRIBE_STRUCT(TreeEvent, (), (workflow_id, git_id, status, version, gone, work_id))

struct TaskEvent {
  std::string workflow_id, work_id;
  int n = 0;
  std::string run;
  std::optional<std::string> error;
  std::optional<std::string> note = {};  // of its start: what is not as it was wanted
};
BOOST_DESCRIBE_STRUCT(TaskEvent, (), (workflow_id, work_id, n, run, error, note))

// By the inlet of agents: a run has ended.
struct AgentEnded {
  std::string run;
  skald::RunEnd end;
  std::optional<double> cost = {};
  std::optional<std::int64_t> milliseconds = {}, output_lost = {};
};
BOOST_DESCRIBE_STRUCT(AgentEnded, (), (run, end, cost, milliseconds, output_lost))

// By the inlet of agents: what a run has used so far.
struct AgentSpent {
  std::string run;
  std::optional<double> cost;
  std::int64_t milliseconds = 0;
};
BOOST_DESCRIBE_STRUCT(AgentSpent, (), (run, cost, milliseconds))

// By the inlet of agents, too: a request in the mailbox of a run.
struct AgentSaid {
  std::string run;
  int n = 0;
  AgentRequest request;
};
BOOST_DESCRIBE_STRUCT(AgentSaid, (), (run, n, request))

// A question of an agent, a query to one, or a report.
struct AskEvent {
  std::string workflow_id, work_id, id;
};
BOOST_DESCRIBE_STRUCT(AskEvent, (), (workflow_id, work_id, id))

template <class Payload>
void say(skald::Transaction& tx, std::string_view type, const std::string& key, const std::string& subject,
         const Payload& payload) {
  tx.emit({.type = std::string(type), .key = key, .subject = subject, .payload = skald::to_json(payload)});
}

// Keyed by the workflow: a work's events and its workflow's keep their order.
inline void say(skald::Transaction& tx, std::string_view type, const Workflow& workflow) {
  say(tx, type, workflow.id, workflow.id, WorkflowEvent{workflow.id, workflow.status, workflow.version});
}
inline void say(skald::Transaction& tx, std::string_view type, const Work& work) {
  say(tx, type, work.workflow_id, work.id, WorkEvent{work.workflow_id, work.id, work.status, work.version, work.error});
}
inline void say(skald::Transaction& tx, std::string_view type, const WorkTree& tree, bool gone = false) {
  say(tx, type, tree.workflow_id, tree.id,
      TreeEvent{tree.workflow_id, tree.git_id, tree.status, tree.version, gone, tree.work_id});
}
// Keyed by the work: one agent's events keep their order.
inline void say(skald::Transaction& tx, std::string_view type, const Work& work, const Task& task) {
  say(tx, type, work.id, work.id, TaskEvent{work.workflow_id, work.id, task.n, task.run.value_or(""), task.error});
}

template <class Payload>
Payload payload_of(const skald::Message& message) {
  return skald::from_json<Payload>(message.event.payload);
}

}  // namespace agentflow
