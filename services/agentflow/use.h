// Registering a workflow at the Gits and McpServers that it uses, and taking that back: each in a transaction of its own,
// under the row's lock, so that nobody is lost and nothing that is used can be deleted.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// Refused where there is no such row, or it cannot be used. `use.added` says whether it was not there before.
template <class T>
void register_use(skald::Transaction& tx, const std::string& workflow_id, Use& use, const std::string& step) {
  skald::RowLocks locks(tx, kRanks, step);
  auto row = locks.take<T>(use.id);
  if (!row)
    throw skald::Refused("NO_SUCH_REFERENCE",
                         std::string(skald::Table<T>::resource) + " " + use.id + " is not registered any more");
  if constexpr (std::is_same_v<T, Git>) {
    if (row->status != GitStatus::READY)
      throw skald::Refused("GIT_NOT_READY", "git " + row->name + " is " + std::string(skald::enum_name(row->status)) +
                                                ": it must be READY before a workflow can use it");
  }
  use.added = !has_id(row->active_workflow_ids, workflow_id);
  if (!use.added) return;
  add_id(row->active_workflow_ids, workflow_id);
  tx.save(*row);
}

// Absent is fine, the use and the row itself.
template <class T>
void release_use(skald::Transaction& tx, const std::string& workflow_id, const std::string& id,
                 const std::string& step) {
  skald::RowLocks locks(tx, kRanks, step);
  auto row = locks.take<T>(id);
  if (row && remove_id(row->active_workflow_ids, workflow_id)) tx.save(*row);
}

// The uses of a workflow as they are now, sorted by id: the order of their locks.
std::vector<Use> git_uses(const Workflow& workflow);
// Also those whose worktree is on its way out.
std::vector<Use> git_uses(skald::Transaction& tx, const Workflow& workflow);
std::vector<Use> mcp_uses(skald::Transaction& tx, const std::string& workflow_id);

}  // namespace agentflow
