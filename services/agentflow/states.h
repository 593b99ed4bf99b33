// The states of workflows, works, tasks, agents and worktrees, and who may move to which. Everything else is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skald/json.h"

namespace agentflow {

enum class WorkflowStatus {
  CREATED,
  STARTING,
  READY,
  RUNNING,
  PAUSING,
  PAUSED,
  RESUMING,
  FAILED,
  COMPLETED,
  CANCELLING,
  CANCELLED,
  DELETING
};
BOOST_DESCRIBE_ENUM(WorkflowStatus, CREATED, STARTING, READY, RUNNING, PAUSING, PAUSED, RESUMING, FAILED, COMPLETED,
                    CANCELLING, CANCELLED, DELETING)

// What moves a workflow. The first row is asked for by people, the second happens.
enum class WorkflowMove {
  start,
  pause,
  resume,
  cancel,
  modify,
  remove,
  restore,
  integrate,
  checkpoint,
  resources_ready,
  compensated,
  work_begins,
  none_left,
  works_stopped,
  work_failed,
  works_cancelled
};
BOOST_DESCRIBE_ENUM(WorkflowMove, start, pause, resume, cancel, modify, remove, restore, integrate, checkpoint,
                    resources_ready, compensated, work_begins, none_left, works_stopped, work_failed, works_cancelled)

enum class WorkStatus { PENDING, RUNNING, COMPLETED, FAILED, STOPPED, CANCELLED };
BOOST_DESCRIBE_ENUM(WorkStatus, PENDING, RUNNING, COMPLETED, FAILED, STOPPED, CANCELLED)

enum class TaskStatus { PENDING, RUNNING, COMPLETED, FAILED };
BOOST_DESCRIBE_ENUM(TaskStatus, PENDING, RUNNING, COMPLETED, FAILED)

enum class AgentStatus { IDLE, STARTING, RUNNING, STOPPING, ERROR };
BOOST_DESCRIBE_ENUM(AgentStatus, IDLE, STARTING, RUNNING, STOPPING, ERROR)

enum class TreeStatus { PENDING, READY, FAILED, RELEASING };
BOOST_DESCRIBE_ENUM(TreeStatus, PENDING, READY, FAILED, RELEASING)

enum class GitStatus { READY, CLONING, FAILED };
BOOST_DESCRIBE_ENUM(GitStatus, READY, CLONING, FAILED)

// Whether a workflow in that state may be moved so, and where to. A move that changes nothing (restore, integrate) leads to the state itself.
bool allows(WorkflowStatus from, WorkflowMove move);
WorkflowStatus after(WorkflowStatus from, WorkflowMove move);  // Refused (WRONG_STATE), as refuse() throws it

// What people may ask of a workflow in that state: "start", "cancel", …
std::vector<std::string> allowed(WorkflowStatus from);

// Refused (WRONG_STATE): says the state and what would be allowed, in words and as members of the problem.
[[noreturn]] void refuse(WorkflowStatus from, WorkflowMove move);

bool allows(WorkStatus from, WorkStatus to);
bool allows(TaskStatus from, TaskStatus to);
bool allows(AgentStatus from, AgentStatus to);
bool allows(TreeStatus from, TreeStatus to);

// Nothing more happens to it, but that it is deleted.
inline bool is_final(WorkflowStatus status) {
  return status == WorkflowStatus::COMPLETED || status == WorkflowStatus::CANCELLED;
}

}  // namespace agentflow
