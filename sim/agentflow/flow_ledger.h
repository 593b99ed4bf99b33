// What must hold of workflows and of everything that they leave outside of the database:
//   F1 every workflow comes to rest: CREATED, PAUSED, FAILED, COMPLETED or CANCELLED; no event and no saga waits
//   F2 nothing is nobody's: no worktree, branch, hidden ref, process, run, folder
//   F3 Gits and McpServers are registered for the workflows that use them, and for no others
//   F4 a run begins once, alone in its worktrees; a task that begins again is told so, and finds what an interrupted
//      try found
//   F5 a work begins when the checkpoints of those before it are kept
//   F6 a restoration, and a join, changes all worktrees or none
//   F7 an integration moves all targets or none
//   F8 what a task did that is done is there when its workflow is COMPLETED
//   F9 what a client was told holds
//   F10 /agentflow/invariants has nothing to say against it
//   F11 nothing is parked
// Every check throws BrokenInvariant, or keeps the first one in `broken` where it runs inside of a process.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentflow/record.h"
#include "agentflow/sagas.h"
#include "sim/agentflow/agent_model.h"
#include "sim/signals.h"

namespace skald::sim {

[[noreturn]] inline void break_rule(std::string invariant, const std::string& text) {
  throw BrokenInvariant{std::move(invariant), text};
}

class FlowLedger {
 public:
  FlowLedger(Stage& stage, GitModel& git, AgentModel& agents);

  // After each commit.
  void observe();
  const std::optional<BrokenInvariant>& broken() const { return broken_; }

  // What is still under way; empty: quiet.
  std::string unfinished();
  // While all is well, an end is told soon, whatever becomes of other agents.
  void check_ends_told(Instant well_since);
  // Sagas and dead letters that wait for a person because the process died of them, by chance.
  std::vector<std::string> crashed_sagas();
  std::vector<std::string> crashed_events();

  void check_end();
  // After the deletion of all workflows and Gits.
  void check_nothing_left();

 private:
  // What a run found when it began.
  struct Found {
    int made = 0;                           // GitModel::made() then
    std::map<std::string, TreeModel> trees;  // by path
  };

  void run_begun(const AgentRun& run);
  void check_alone(const AgentRun& run);
  void check_second_try(const AgentRun& run, const Found& found);
  void check_checkpoints_before(Transaction& tx, const agentflow::Work& work);
  void check_covers(Transaction& tx, const agentflow::Checkpoint& checkpoint);
  Found trees_beside(const AgentRun& run);
  bool is_newer(const agentflow::WorkTree& row, const std::string& commit);

  void saga_ended(const std::string& type, const std::string& status, const std::string& state);
  void check_restored(const std::vector<agentflow::TreeRestore>& trees, bool done, std::string_view what);
  void check_integrated(const agentflow::IntegrateWorkflow& state, bool done);

  void check_parked(Transaction& tx);
  void check_trees(Transaction& tx);
  void check_refs(Transaction& tx);
  void check_runs(Transaction& tx);
  void check_folders(Transaction& tx);
  void check_registrations(Transaction& tx);
  void check_results(Transaction& tx);
  void check_result(Transaction& tx, const std::string& workflow_id, const std::string& file, const AgentRun& run);
  void note_break(const BrokenInvariant& broken);

  Stage& stage_;
  GitModel& git_;
  AgentModel& agents_;
  std::optional<BrokenInvariant> broken_;
  std::map<std::string, int> begun_;      // how often, by run
  std::map<std::string, Found> found_;    // by run
  std::map<std::string, AgentRun> ended_;
  std::set<std::string> seen_;            // sagas that have ended
  std::set<std::string> restored_;        // workflows
};

}  // namespace skald::sim
