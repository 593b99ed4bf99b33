#include "agentflow/work_groups.h"

#include "agentflow/events.h"

namespace agentflow {
namespace {

// One of a group is through when it has come back.
bool is_through(const Work& work) {
  return work.status == WorkStatus::COMPLETED && (!work.base_checkpoint || work.joined_checkpoint);
}

}  // namespace

std::vector<Work> works_as_noted(skald::Transaction& tx, const Workflow& workflow) {
  const auto statuses = in_column<WorkStatuses>(workflow.work_statuses);
  std::vector<Work> works = works_of(tx, workflow.id);
  for (Work& work : works) work.status = statuses.at(work.id);
  return works;
}

std::vector<Work> works_in_turn(const std::vector<Work>& works) {
  const auto first = std::ranges::find_if_not(works, is_through);
  if (first == works.end()) return {};
  auto end = first + 1;
  while (first->parallel && end != works.end() && end->parallel == first->parallel) ++end;
  return {first, end};
}

bool can_be_joined(skald::Transaction& tx, const std::vector<Work>& turn) {
  return !turn.empty() && std::ranges::all_of(turn, [&](const Work& work) {
    return work.base_checkpoint && work.status == WorkStatus::COMPLETED && tx.find<Checkpoint>(work.id);
  });
}

void fail_workflow(skald::Transaction& tx, const std::string& workflow_id, const std::string& why) {
  bool fails = false;
  const Workflow workflow = skald::change<Workflow>(tx, workflow_id, [&](Workflow& row) {
    fails = allows(row.status, WorkflowMove::work_failed);
    if (!fails) return;
    row.status = after(row.status, WorkflowMove::work_failed);
    row.error = why;
    row.updated_at = tx.now();
  });
  if (fails) say(tx, kWorkflowFailed, workflow);
}

}  // namespace agentflow
