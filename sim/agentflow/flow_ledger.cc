#include "sim/agentflow/flow_ledger.h"

#include <algorithm>
#include <filesystem>

#include "agentflow/task_end.h"

namespace skald::sim {
namespace {

using agentflow::Work;

std::string folder_above(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

bool is_task(const AgentRun& run) { return agentflow::run_named(run.spec.id).has_value(); }

}  // namespace

FlowLedger::FlowLedger(Stage& stage, GitModel& git, AgentModel& agents) : stage_(stage), git_(git), agents_(agents) {
  agents_.listen(
      [this](const AgentRun& run) {
        try {
          run_begun(run);
        } catch (const BrokenInvariant& found) {
          note_break(found);
        }
      },
      [this](const AgentRun& run) { ended_[run.spec.id] = run; });
}

void FlowLedger::note_break(const BrokenInvariant& found) {
  if (!broken_) broken_ = found;
}

FlowLedger::Found FlowLedger::trees_beside(const AgentRun& run) {
  Found out{.made = git_.made(), .trees = {}};
  const std::string folder = folder_above(run.spec.folder);
  for (const auto& [path, repository] : git_.all())
    for (const auto& [place, tree] : repository->trees)
      if (folder_above(place) == folder) out.trees[place] = tree;
  return out;
}

// Those of works without a repository work in the space, beside each other.
void FlowLedger::check_alone(const AgentRun& run) {
  if (git_.tree_at(run.spec.folder) == nullptr) return;
  for (const auto& [id, other] : agents_.runs())
    if (id != run.spec.id && is_task(other) && (other.lives() || other.has_leftovers) &&
        other.spec.folder == run.spec.folder)
      break_rule("F4", "agents " + id + " and " + run.spec.id + " run at once in one worktree");
}

// Who has asked and left begins anew with the answer; all others are a second try.
void FlowLedger::check_second_try(const AgentRun& run, const Found& found) {
  agentflow::RunName name = agentflow::run_named(run.spec.id).value();
  bool tried = false;
  for (int attempt = 1; attempt < name.attempt; ++attempt) {
    const auto before = ended_.find(agentflow::to_text({name.work_id, name.n, attempt}));
    if (before == ended_.end() || !before->second.launched) continue;
    const Habit habit = *before->second.habit;
    tried = tried || (habit != Habit::asks_in_output && habit != Habit::asks_by_mail);
  }
  if (tried && run.spec.input.find("second try") == std::string::npos)
    break_rule("F4", "run " + run.spec.id + " is not told that its task has been begun before");
  --name.attempt;
  const auto last = ended_.find(agentflow::to_text(name));
  if (last == ended_.end() || last->second.end->outcome != RunOutcome::INTERRUPTED) return;
  stage_.markers.hit(Marker::second_try);
  if (run.spec.argv.back() == kCarelessAgent) return;
  for (const auto& [place, tree] : found_[agentflow::to_text(name)].trees) {
    const auto now = found.trees.find(place);
    if (now != found.trees.end() && now->second.number == tree.number && now->second.files != tree.files)
      break_rule("F4", "run " + run.spec.id + " does not find in its worktree what the interrupted one found");
  }
}

// Where it was taken out and added again, what was kept of it is gone.
bool FlowLedger::is_newer(const agentflow::WorkTree& row, const std::string& commit) {
  const TreeModel* const tree = git_.tree_at(row.path);
  return tree == nullptr || tree->number > git_.commit(commit).number;
}

// All worktrees that the work's agents had, as far as they are there and not about to go.
void FlowLedger::check_covers(Transaction& tx, const agentflow::Checkpoint& checkpoint) {
  const auto commits = agentflow::in_column<std::vector<agentflow::TreeCommit>>(checkpoint.commits);
  for (const auto& [run, found] : found_) {
    if (agentflow::run_named(run)->work_id != checkpoint.id) continue;
    for (const auto& [path, tree] : found.trees) {
      const auto rows = tx.select<agentflow::WorkTree>("WHERE path = $1 AND status = 'READY'", path);
      const TreeModel* const now = git_.tree_at(path);
      if (rows.empty() || now == nullptr || now->number != tree.number) continue;
      if (std::ranges::find(commits, rows[0].git_id, &agentflow::TreeCommit::git_id) == commits.end())
        break_rule("F5", "the checkpoint of work " + checkpoint.id + " has nothing of git " + rows[0].git_id);
    }
  }
}

void FlowLedger::check_checkpoints_before(Transaction& tx, const Work& work) {
  for (const Work& earlier :
       tx.select<Work>("WHERE workflow_id = $1 AND position < $2", work.workflow_id, work.position)) {
    if (work.base_checkpoint && earlier.base_checkpoint == work.base_checkpoint) continue;
    const auto checkpoint = tx.find<agentflow::Checkpoint>(earlier.id);
    if (!checkpoint) break_rule("F5", "work " + work.id + " begins without the checkpoint of " + earlier.id);
    check_covers(tx, *checkpoint);
    for (const auto& one : agentflow::in_column<std::vector<agentflow::TreeCommit>>(checkpoint->commits)) {
      const auto tree = tx.find<agentflow::WorkTree>(agentflow::tree_id(work.workflow_id, one.git_id));
      if (!tree || is_newer(*tree, one.commit)) continue;
      const auto& refs = git_.at(tree->repository).refs;
      const auto ref = refs.find(work.workflow_id + "/" + earlier.id);
      if (ref == refs.end() || ref->second != one.commit)
        break_rule("F5", "work " + work.id + " begins, and the checkpoint of " + earlier.id + " is not there");
    }
  }
}

void FlowLedger::run_begun(const AgentRun& run) {
  if (++begun_[run.spec.id] > 1) break_rule("F4", "run " + run.spec.id + " begins twice");
  if (!is_task(run)) return;
  check_alone(run);
  Found found = trees_beside(run);
  check_second_try(run, found);
  found_[run.spec.id] = std::move(found);
  stage_.look([&](Transaction& tx) {
    const auto work = tx.find<Work>(agentflow::run_named(run.spec.id)->work_id);
    if (work) check_checkpoints_before(tx, *work);
  });
}

void FlowLedger::observe() {
  try {
    stage_.look([&](Transaction& tx) {
      const Rows rows = tx.query(
          "SELECT id, type, status, state FROM skald_saga WHERE live = 0 AND type IN ('agentflow.restore', "
          "'agentflow.integrate', 'agentflow.join') AND status <> 'NEEDS_HELP'");
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (seen_.insert(rows.get<std::string>(i, 0)).second)
          saga_ended(rows.get<std::string>(i, 1), rows.get<std::string>(i, 2), rows.get<std::string>(i, 3));
    });
  } catch (const BrokenInvariant& found) {
    note_break(found);
  }
}

// Its lock goes with this very commit: nobody else has been at the worktrees since.
void FlowLedger::saga_ended(const std::string& type, const std::string& status, const std::string& state) {
  const bool done = status == "COMPLETED";
  if (type == "agentflow.restore") {
    const auto restore = from_json<agentflow::RestoreWorkflow>(state);
    if (!restore.restores.empty()) restored_.insert(restore.workflow_id);
    if (!restore.restores.empty()) stage_.markers.hit(done ? Marker::flow_restored : Marker::flow_restore_undone);
    check_restored(restore.restores, done, "restoration");
  } else if (type == "agentflow.join") {
    const auto join = from_json<agentflow::JoinWorks>(state);
    if (!join.results.empty()) stage_.markers.hit(done ? Marker::works_joined : Marker::join_undone);
    check_restored(join.results, done, "join");
  } else {
    check_integrated(from_json<agentflow::IntegrateWorkflow>(state), done);
  }
}

void FlowLedger::check_restored(const std::vector<agentflow::TreeRestore>& trees, bool done, std::string_view what) {
  for (const auto& tree : trees) {
    const TreeModel* const now = git_.tree_at(tree.path);
    if (now == nullptr) break_rule("F6", "a " + std::string(what) + " has lost the worktree " + tree.path);
    if (now->files != git_.commit(done ? tree.commit : tree.safety).files)
      break_rule("F6", "a " + std::string(what) + " that is " + (done ? "done" : "undone") + " has left " + tree.path +
                           " as it should not be");
  }
}

void FlowLedger::check_integrated(const agentflow::IntegrateWorkflow& state, bool done) {
  bool moved = false;
  for (const auto& home : state.trees) {
    if (home.after.empty() || home.before == home.after) continue;
    const auto& branches = git_.at(home.repository).branches;
    const auto target = branches.find(home.target);
    const bool is_in = target != branches.end() && git_.has_commit(home.after, target->second);
    if (is_in != done)
      break_rule("F7", "an integration that is " + std::string(done ? "done" : "undone") +
                           (is_in ? " moved " : " left ") + home.target + " of " + home.repository);
    moved = true;
  }
  if (moved) stage_.markers.hit(done ? Marker::flow_integrated : Marker::flow_integration_undone);
}

}  // namespace skald::sim
