// FlowLedger: what must have come true when everything is at rest.
#include <algorithm>
#include <filesystem>

#include "agentflow/task_end.h"
#include "agentflow/use.h"
#include "sim/agentflow/flow_ledger.h"
#include "sim/agentflow/flow_unit.h"

namespace skald::sim {
namespace {

namespace fs = std::filesystem;
using agentflow::Ids;
using agentflow::WorkflowStatus;

constexpr Duration kToldWithin = 60s;

std::vector<std::string> words_of(Transaction& tx, const std::string& sql) {
  std::vector<std::string> out;
  const Rows rows = tx.query(sql);
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<std::string>(i, 0));
  return out;
}

std::set<std::string> folders_in(const std::string& path) {
  std::set<std::string> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path, none)) out.insert(entry.path().filename().string());
  return out;
}

bool holds_resources(WorkflowStatus status) {
  return status == WorkflowStatus::PAUSED || status == WorkflowStatus::FAILED;
}

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += " " + word;
  return out.empty() ? " nobody" : out;
}

}  // namespace

std::string FlowLedger::unfinished() {
  std::string out;
  const auto add = [&out](const std::vector<std::string>& ids, const std::string& what) {
    for (std::size_t i = 0; i < ids.size() && i < 5; ++i) out += " " + what + " " + ids[i];
  };
  stage_.look([&](Transaction& tx) {
    add(words_of(tx, "SELECT type || ' ' || id FROM skald_outbox WHERE live = 1"), "event");
    add(words_of(tx, "SELECT type || ' ' || id FROM skald_saga WHERE status IN ('RUNNING', 'WAITING', 'COMPENSATING')"),
        "saga");
    add(words_of(tx,
                 "SELECT id || ' ' || status FROM flow_workflow WHERE status NOT IN ('CREATED', 'PAUSED', 'FAILED', "
                 "'COMPLETED', 'CANCELLED')"),
        "workflow");
    add(words_of(tx, "SELECT id FROM flow_query WHERE status IN ('SENT', 'RUNNING')"), "query");
  });
  for (const auto& [id, run] : agents_.runs())
    if (run.lives()) out += " agent " + id;
  return out;
}

void FlowLedger::check_ends_told(Instant well_since) {
  stage_.look([&](Transaction& tx) {
    for (const auto& [id, run] : agents_.runs()) {
      if (!run.end || !run.launched || stage_.now() - std::max(run.ended_at, well_since) < kToldWithin) continue;
      if (tx.query("SELECT 1 FROM skald_outbox WHERE id = $1", "agent-ended/" + id).empty())
        break_rule("F1", "agent " + id + " has ended, and nobody was told");
    }
  });
}

std::vector<std::string> FlowLedger::crashed_sagas() {
  std::vector<std::string> out;
  stage_.look([&](Transaction& tx) {
    out = words_of(tx, "SELECT id FROM skald_saga WHERE status = 'NEEDS_HELP' AND error_code = 'CRASHED' ORDER BY id");
  });
  return out;
}

std::vector<std::string> FlowLedger::crashed_events() {
  std::vector<std::string> out;
  stage_.look([&](Transaction& tx) {
    out = words_of(tx, "SELECT id FROM skald_dead_letter WHERE state = 'DEAD' AND reason = 'CRASHED' ORDER BY id");
  });
  return out;
}

void FlowLedger::check_parked(Transaction& tx) {
  const auto sagas = words_of(tx,
                              "SELECT type || ' ' || id || ': ' || error_code || ' ' || error_message FROM skald_saga "
                              "WHERE status = 'NEEDS_HELP' ORDER BY id");
  if (!sagas.empty()) break_rule("F11", "parked: " + sagas[0]);
  const auto letters = words_of(tx, "SELECT id FROM skald_dead_letter WHERE state = 'DEAD' ORDER BY id");
  if (!letters.empty()) break_rule("F11", "dead letter " + letters[0]);
  const auto locks = words_of(tx, "SELECT resource || ' ' || key FROM skald_lock");
  if (!locks.empty()) break_rule("F11", "a lock is left: " + locks[0]);
}

// A worktree has its row, and a row that is READY its worktree. A work's own that git does not let go stays for the
// deletion of its workflow.
void FlowLedger::check_trees(Transaction& tx) {
  std::map<std::string, std::string> rows, branches;  // by path, and by repository and branch
  for (const auto& row : tx.select<agentflow::WorkTree>("ORDER BY id")) {
    rows[row.path] = row.id;
    branches[row.repository + " " + row.branch] = row.id;
    if (row.status == agentflow::TreeStatus::READY &&
        !git_.has_tree(agentflow::Tree{row.repository, row.path, row.branch}))
      break_rule("F2", "worktree " + row.id + " is READY and not there");
    if (row.status == agentflow::TreeStatus::RELEASING && !row.work_id)
      break_rule("F1", "worktree " + row.id + " is still RELEASING");
  }
  for (const auto& [path, repository] : git_.all()) {
    for (const auto& [place, tree] : repository->trees)
      if (!rows.contains(place)) break_rule("F2", "worktree " + without_folder(stage_, place) + " is nobody's");
    for (const auto& [name, commit] : repository->branches)
      if (name.starts_with("skald/") && !branches.contains(path + " " + name))
        break_rule("F2", "branch " + name + " is nobody's");
    for (const std::string& mark : repository->marks)
      if (!branches.contains(path + " " + mark)) break_rule("F2", "mark of branch " + mark + " is nobody's");
  }
}

// Names are WORKFLOW/CHECKPOINT. A repository that the workflow has left keeps none, also where it has come back.
void FlowLedger::check_refs(Transaction& tx) {
  for (const auto& [path, repository] : git_.all())
    for (const auto& [name, commit] : repository->refs) {
      const std::string workflow = name.substr(0, name.find('/'));
      if (tx.query("SELECT 1 FROM flow_work_tree WHERE workflow_id = $1 AND repository = $2", workflow, path).empty())
        break_rule("F2", "ref " + name + " is nobody's");
    }
  for (const auto& checkpoint : tx.select<agentflow::Checkpoint>("ORDER BY id"))
    for (const auto& one : agentflow::in_column<std::vector<agentflow::TreeCommit>>(checkpoint.commits)) {
      const auto tree = tx.find<agentflow::WorkTree>(agentflow::tree_id(checkpoint.workflow_id, one.git_id));
      if (!tree || is_newer(*tree, one.commit)) continue;
      const auto& refs = git_.at(tree->repository).refs;
      const auto ref = refs.find(checkpoint.workflow_id + "/" + checkpoint.id);
      if (ref == refs.end() || ref->second != one.commit)
        break_rule("F2", "checkpoint " + checkpoint.id + " has lost its commit in git " + one.git_id);
    }
}

void FlowLedger::check_runs(Transaction& tx) {
  for (const auto& [id, run] : agents_.runs()) {
    if (run.lives()) break_rule("F2", "agent " + id + " still runs");
    if (!tx.find<agentflow::Work>(agentflow::work_of_run(id).value_or("")))
      break_rule("F2", "run " + id + " is nobody's");
  }
}

void FlowLedger::check_folders(Transaction& tx) {
  const std::string flow = stage_.folder.file("flow");
  for (const std::string& name : folders_in(flow + "/spaces"))
    if (tx.query("SELECT 1 FROM flow_space WHERE workflow_id = $1", name).empty())
      break_rule("F2", "space " + name + " is nobody's");
  for (const std::string& name : folders_in(flow + "/clones")) {
    const auto git = tx.find<agentflow::Git>(name);
    if (!git) break_rule("F2", "clone " + name + " is nobody's");
    if (git->status != agentflow::GitStatus::READY) break_rule("F2", "clone " + name + " is of a Git that has none");
  }
  for (const auto& git : tx.select<agentflow::Git>("WHERE remote IS NOT NULL"))
    if (git.status == agentflow::GitStatus::READY && !fs::exists(git.path))
      break_rule("F2", "Git " + git.id + " is READY without its clone");
}

// One that was never started may be registered for what a change has added.
void FlowLedger::check_registrations(Transaction& tx) {
  std::map<std::string, std::set<std::string>> wanted, allowed;
  for (const auto& workflow : tx.select<agentflow::Workflow>("ORDER BY id")) {
    std::vector<agentflow::Use> uses = agentflow::git_uses(tx, workflow);
    for (const agentflow::Use& use : agentflow::mcp_uses(tx, workflow.id)) uses.push_back(use);
    for (const agentflow::Use& use : uses) {
      if (holds_resources(workflow.status)) wanted[use.id].insert(workflow.id);
      if (holds_resources(workflow.status) || workflow.status == WorkflowStatus::CREATED)
        allowed[use.id].insert(workflow.id);
    }
  }
  const auto check = [&](const std::string& id, const skald::RawJson& column) {
    const Ids ids = agentflow::in_column<Ids>(column);
    const std::set<std::string> registered(ids.begin(), ids.end());
    if (!std::ranges::includes(registered, wanted[id]) || !std::ranges::includes(allowed[id], registered))
      break_rule("F3", id + " is registered for" + joined(registered) + " and should be for" + joined(wanted[id]));
  };
  for (const auto& git : tx.select<agentflow::Git>("ORDER BY id")) check(git.id, git.active_workflow_ids);
  for (const auto& server : tx.select<agentflow::McpServer>("ORDER BY id"))
    check(server.id, server.active_workflow_ids);
}

// Unless somebody has restored an older state, or taken the repository out meanwhile.
void FlowLedger::check_results(Transaction& tx) {
  for (const auto& workflow : tx.select<agentflow::Workflow>("WHERE status = 'COMPLETED' ORDER BY id")) {
    if (restored_.contains(workflow.id)) continue;
    for (const auto& work : tx.select<agentflow::Work>("WHERE workflow_id = $1 ORDER BY position", workflow.id))
      for (const auto& task : agentflow::in_column<agentflow::Tasks>(work.tasks)) {
        const auto run = ended_.find(task.run.value_or(""));
        if (run == ended_.end() || run->second.end->outcome != RunOutcome::FINISHED) continue;
        check_result(tx, workflow.id, work.id + "." + std::to_string(task.n), run->second);
      }
  }
}

void FlowLedger::check_result(Transaction& tx, const std::string& workflow_id, const std::string& file,
                              const AgentRun& run) {
  const Found& found = found_[run.spec.id];
  for (const auto& [path, files] : found.trees) {
    const auto row = tx.select<agentflow::WorkTree>("WHERE workflow_id = $1 AND path LIKE $2 AND work_id IS NULL",
                                                    workflow_id, "%/" + fs::path(path).filename().string());
    const TreeModel* const tree = row.empty() ? nullptr : git_.tree_at(row[0].path);
    if (tree == nullptr || tree->number > found.made) continue;
    const auto text = tree->files.find(file);
    if (text == tree->files.end() || text->second != run.spec.id + " finished")
      break_rule("F8", "what run " + run.spec.id + " did is not in " + row[0].id);
  }
}

void FlowLedger::check_end() {
  stage_.look([&](Transaction& tx) {
    check_parked(tx);
    check_trees(tx);
    check_refs(tx);
    check_runs(tx);
    check_folders(tx);
    check_registrations(tx);
    check_results(tx);
  });
}

void FlowLedger::check_nothing_left() {
  check_end();
  for (const auto& [path, repository] : git_.all())
    if (!repository->trees.empty() || !repository->refs.empty() || !repository->marks.empty())
      break_rule("F2", "a repository has something left when all workflows are deleted");
  if (!agents_.runs().empty()) break_rule("F2", "run " + agents_.runs().begin()->first + " is left");
  for (const char* where : {"flow/spaces", "flow/clones"})
    if (const auto left = folders_in(stage_.folder.file(where)); !left.empty())
      break_rule("F2", std::string(where) + " has left" + joined(left));
}

}  // namespace skald::sim
