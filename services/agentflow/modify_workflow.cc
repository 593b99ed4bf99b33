// Changing a workflow: its name and agent, the repositories that it works on, and the works that have not run yet. The
// Gits and McpServers that come new are registered first, then the description changes at once, then worktrees follow
// it, then what is no longer used is released.
#include <set>

#include "agentflow/create.h"
#include "agentflow/events.h"
#include "agentflow/trees.h"
#include "agentflow/use.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Transaction;

using Refs = std::vector<GitRef>;

// Under the saga's own id: the note of another change is left alone.
void note_modification(Local& step, const std::string& workflow_id, ModificationStatus status,
                       const std::optional<std::string>& error) {
  skald::change<Workflow>(step.tx(), workflow_id, [&](Workflow& row) {
    if (skald::from_json<ModificationNote>(row.modification.value()).saga_id != step.saga_id()) return;
    row.modification = skald::to_json(ModificationNote{step.saga_id(), status, error});
  });
}

// A worktree stands at the commit that its base was; another base would be another worktree.
void refuse_other_base(Local& step, const Workflow& workflow, const GitRef& before, const GitRef& after) {
  if (before.base_branch == after.base_branch) return;
  const auto tree = step->find<WorkTree>(tree_id(workflow.id, after.git_id));
  if (tree && tree->status != TreeStatus::PENDING)
    throw skald::Refused("BASE_FIXED", "the worktree of git " + after.git_id +
                                           " is there already: take the git out and add it again with another branch");
}

void refuse_leaving(Local& step, const Workflow& workflow, const GitRef& added) {
  if (step->find<WorkTree>(tree_id(workflow.id, added.git_id)))
    throw skald::Refused("TREE_LEAVES", "the worktree of git " + added.git_id +
                                            " is still on its way out: add it again when the current work has ended");
}

void note_delta(Local& step, const Workflow& workflow, ModifyWorkflow& modify) {
  modify.added.clear(), modify.removed.clear(), modify.trees.clear();
  if (!modify.git_refs) return;
  const auto before = in_column<Refs>(workflow.git_refs);
  std::set<std::string> added;
  for (const GitRef& ref : *modify.git_refs) {
    const auto known = std::ranges::find(before, ref.git_id, &GitRef::git_id);
    if (known != before.end()) {
      refuse_other_base(step, workflow, *known, ref);
      continue;
    }
    refuse_leaving(step, workflow, ref);
    added.insert(ref.git_id);
  }
  for (const std::string& id : added) modify.added.push_back({id});
  for (const GitRef& ref : before)
    if (std::ranges::find(*modify.git_refs, ref.git_id, &GitRef::git_id) == modify.git_refs->end())
      modify.removed.push_back(ref.git_id);
}

void begin_modification(const Outside& outside, Local& step, ModifyWorkflow& modify) {
  const auto workflow = step->find<Workflow>(modify.workflow_id);
  if (!workflow) throw skald::Refused("WORKFLOW_NOT_FOUND", "the workflow was deleted before it could be changed");
  if (!allows(workflow->status, WorkflowMove::modify)) refuse(workflow->status, WorkflowMove::modify);
  note_delta(step, *workflow, modify);
  for (const Use& use : modify.added) {
    const GitRef& ref = *std::ranges::find(*modify.git_refs, use.id, &GitRef::git_id);
    modify.trees.push_back(plan_of(outside, step.tx(), workflow->id, ref));
  }
  std::set<std::string> servers;
  for (const PlannedWork& work : modify.works.value_or(std::vector<PlannedWork>{}))
    for (const std::string& id : work.mcp_server_refs.value_or(Ids{})) servers.insert(id);
  modify.mcp_servers.clear(), modify.mcp_released.clear();
  for (const Use& use : mcp_uses(step.tx(), workflow->id)) {
    servers.erase(use.id);
    modify.mcp_released.push_back(use);
  }
  for (const std::string& id : servers) modify.mcp_servers.push_back({id});
}

void give_up(Local& step, ModifyWorkflow& modify) {
  if (!step->find<Workflow>(modify.workflow_id)) return;
  const auto why = step.context().failure;
  note_modification(step, modify.workflow_id, ModificationStatus::FAILED,
                    why ? why->code + ": " + why->message : "it was given up by an operator");
}

Work changed(Work work, const PlannedWork& plan) {
  if (plan.name) work.name = *plan.name;
  if (plan.tasks) work.tasks = as_column(tasks_of(*plan.tasks));
  if (plan.mcp_server_refs) work.mcp_server_refs = as_column(*plan.mcp_server_refs);
  if (plan.wants_report) work.wants_report = *plan.wants_report;
  if (plan.parallel) work.parallel = plan.parallel->empty() ? std::nullopt : plan.parallel;
  return work;
}

void write_work(Transaction& tx, Work& work, bool is_new) {
  if (is_new) tx.insert(work);
  else tx.save(work);
  tx.execute("DELETE FROM flow_report WHERE work_id = $1", work.id);
  if (work.wants_report) tx.insert(Report{work.id, work.workflow_id, {}, 0});
}

Work blank_work(const std::string& workflow_id, const std::string& id) {
  Work work;
  work.id = id, work.workflow_id = workflow_id;
  return work;
}

// The works that have run stay as they are, and before all others. Returns all in their order.
Ids replace_works(Transaction& tx, const std::string& workflow_id, const std::vector<PlannedWork>& wanted) {
  std::map<std::string, Work> open;
  Ids ids;
  for (const Work& work : works_of(tx, workflow_id)) {
    if (has_begun(work)) ids.push_back(work.id);
    else open.emplace(work.id, work);
  }
  if (const std::size_t all = ids.size() + wanted.size(); all == 0 || all > kWorksMax)
    throw skald::Refused("BAD_WORKS", "with this change the workflow would have " + std::to_string(all) +
                                          " works; it has 1 to " + std::to_string(kWorksMax));
  for (const PlannedWork& plan : wanted) {
    const auto known = open.find(plan.id);
    if (known == open.end() && !plan.is_new)
      throw skald::Refused("WORK_HAS_BEGUN", "work " + plan.id + " has begun, or is not there any more: leave it out");
    Work work = changed(known == open.end() ? blank_work(workflow_id, plan.id) : known->second, plan);
    work.position = static_cast<std::int64_t>(ids.size()) + 1;
    write_work(tx, work, known == open.end());
    open.erase(work.id);
    ids.push_back(work.id);
  }
  for (const auto& [id, work] : open) {
    tx.execute("DELETE FROM flow_report WHERE work_id = $1", id);
    tx.execute("DELETE FROM flow_work WHERE id = $1", id);
  }
  return ids;
}

void set_works(Workflow& workflow, const Ids& ids) {
  const auto before = in_column<WorkStatuses>(workflow.work_statuses);
  WorkStatuses statuses;
  for (const std::string& id : ids) statuses[id] = before.contains(id) ? before.at(id) : WorkStatus::PENDING;
  workflow.work_ids = as_column(ids);
  workflow.work_statuses = as_column(statuses);
}

void replace_trees(Transaction& tx, const ModifyWorkflow& modify) {
  for (const TreePlan& plan : modify.trees) {
    const WorkTree row = row_of(modify.workflow_id, plan);
    tx.insert(row);
    say(tx, kTreeStatusChanged, row);
  }
  for (const std::string& git_id : modify.removed) {
    const auto tree = tx.find<WorkTree>(tree_id(modify.workflow_id, git_id));
    if (!tree || !allows(tree->status, TreeStatus::RELEASING)) continue;
    say(tx, kTreeStatusChanged,
        skald::change<WorkTree>(tx, tree->id, [](WorkTree& row) { row.status = TreeStatus::RELEASING; }));
  }
  for (const GitRef& ref : *modify.git_refs) {
    const auto tree = tx.find<WorkTree>(tree_id(modify.workflow_id, ref.git_id));
    if (!tree || tree->base_branch == ref.base_branch) continue;
    skald::change<WorkTree>(tx, tree->id, [&](WorkTree& row) { row.base_branch = ref.base_branch; });
  }
}

// Works that have not run are part of the description, as at the workflow's creation: they change with it.
void change_description(Local& step, ModifyWorkflow& modify) {
  std::optional<Ids> works;
  if (modify.works) works = replace_works(step.tx(), modify.workflow_id, *modify.works);
  const Workflow workflow = skald::change<Workflow>(step.tx(), modify.workflow_id, [&](Workflow& row) {
    if (modify.name) row.name = *modify.name;
    if (modify.agent) row.agent = *modify.agent;
    if (modify.git_refs) row.git_refs = as_column(*modify.git_refs);
    if (works) set_works(row, *works);
    row.saga_id = step.saga_id();
    row.updated_at = step->now();
  });
  // A group that was complete has another work now, and no work is left whose end would begin it.
  if (works && workflow.status == WorkflowStatus::RUNNING && !has_running_work(step.tx(), workflow.id))
    say(step.tx(), kWorksUpdated, workflow);
  if (!modify.git_refs) return;
  replace_trees(step.tx(), modify);
  say(step.tx(), kGitRefsUpdated, workflow);
}

void end_modification(Local& step, ModifyWorkflow& modify) {
  const std::vector<Use> used = mcp_uses(step.tx(), modify.workflow_id);
  std::erase_if(modify.mcp_released,
                [&](const Use& use) { return std::ranges::find(used, use.id, &Use::id) != used.end(); });
  note_modification(step, modify.workflow_id, ModificationStatus::DONE, std::nullopt);
}

}  // namespace

skald::Saga<ModifyWorkflow> modify_saga(const OutsideHandle& outside, const skald::Saga<SettleTrees>& settle) {
  return skald::Saga<ModifyWorkflow>("agentflow.modify")
      .given("ask")
      .undo(give_up)
      .writes("modification", Guard::idempotency_key)
      .local("begin", [outside](Local& step, ModifyWorkflow& modify) { begin_modification(*outside, step, modify); })
      .nothing_to_undo()
      .holds("workflow", &ModifyWorkflow::workflow_id, skald::exclusive, skald::wait_up_to(24h))
      .reads("workflow")
      .commit()
      .each("register at git", &ModifyWorkflow::added,
            [](Local& step, ModifyWorkflow& modify, Use& use) {
              register_use<Git>(step.tx(), modify.workflow_id, use, "register at git");
            })
      .undo(&ModifyWorkflow::added,
            [](Local& step, ModifyWorkflow& modify, Use& use) {
              if (use.added) release_use<Git>(step.tx(), modify.workflow_id, use.id, "take back from git");
            })
      .writes("git", Guard::commutative)
      .commit()
      .each("register at mcp server", &ModifyWorkflow::mcp_servers,
            [](Local& step, ModifyWorkflow& modify, Use& use) {
              register_use<McpServer>(step.tx(), modify.workflow_id, use, "register at mcp server");
            })
      .undo(&ModifyWorkflow::mcp_servers,
            [](Local& step, ModifyWorkflow& modify, Use& use) {
              if (use.added) release_use<McpServer>(step.tx(), modify.workflow_id, use.id, "take back from mcp server");
            })
      .writes("mcp server", Guard::commutative)
      .commit()
      .local("change description", change_description)
      .pivot()
      .writes("workflow", Guard::optimistic)
      .writes("work", Guard::optimistic)
      .commit()
      .child<SettleTrees>(
          "settle worktrees", settle,
          [](const ModifyWorkflow& modify) { return SettleTrees{modify.workflow_id, {}, {}}; },
          [](Local&, ModifyWorkflow&, const SettleTrees&) {})
      .when([](const ModifyWorkflow& modify) { return modify.git_refs.has_value(); })
      .local("end", end_modification)
      .writes("modification", Guard::idempotency_key)
      .reads("workflow")
      .commit()
      .each("release mcp server", &ModifyWorkflow::mcp_released,
            [](Local& step, ModifyWorkflow& modify, Use& use) {
              release_use<McpServer>(step.tx(), modify.workflow_id, use.id, "release mcp server");
            })
      .writes("mcp server", Guard::commutative)
      .commit();
}

}  // namespace agentflow
