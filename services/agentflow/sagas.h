// The sagas of this service: their states, and where they are made.
//
// Each holds the workflow that it works on (but `task` and `advance`, which run while it does): two of them never work on
// one workflow at once, and who comes second waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agentflow/ports.h"
#include "agentflow/record.h"
#include "agentflow/repositories.h"
#include "agentflow/views.h"
#include "skald/saga.h"

namespace agentflow {

struct Outside;
struct Flow;

// A use of a Git or an McpServer by a workflow.
struct Use {
  std::string id;
  bool added = false;  // by this saga: what it found is not its own to take back
};
BOOST_DESCRIBE_STRUCT(Use, (), (id, added))

struct TreePlan {
  std::string git_id, repository, path, branch;
  std::optional<std::string> base_branch;
  std::string base = {};  // the commit, once it is known
  std::string commit = {};  // of its checkpoint
  bool added = false;  // its row, by this saga
  std::optional<std::string> error = {};
  std::optional<std::string> work_id = {};  // whose own it is; none: the workflow's
};
BOOST_DESCRIBE_STRUCT(TreePlan, (),
                      (git_id, repository, path, branch, base_branch, base, commit, added, error, work_id))

struct StartWorkflow {
  std::string workflow_id, space;
  std::vector<Use> gits, mcp_servers;
  std::vector<TreePlan> trees;
  std::int64_t ports = 0;  // that it is to have
};
BOOST_DESCRIBE_STRUCT(StartWorkflow, (), (workflow_id, space, gits, mcp_servers, trees, ports))

// Pause, resume, cancel, delete and release: over the works, the agents and the uses of one workflow.
struct WorkflowWalk {
  std::string workflow_id;
  std::vector<Use> works = {}, gits = {}, mcp_servers = {};
  std::vector<std::string> runs = {};  // of agents that may live
  std::vector<TreePlan> trees = {};
  std::optional<WorkflowLimits> limits = {};  // that it is resumed with
};
BOOST_DESCRIBE_STRUCT(WorkflowWalk, (), (workflow_id, works, gits, mcp_servers, runs, trees, limits))

struct SettleTrees {
  std::string workflow_id;
  std::vector<TreePlan> releases, additions;
};
BOOST_DESCRIBE_STRUCT(SettleTrees, (), (workflow_id, releases, additions))

// A work as a modification wants it: what is not said stays.
struct PlannedWork {
  std::string id;
  bool is_new = false;
  std::optional<std::string> name = {};
  std::optional<std::vector<NewTask>> tasks = {};
  std::optional<Ids> mcp_server_refs = {};
  std::optional<bool> wants_report = {};
  std::optional<std::string> parallel = {};
};
BOOST_DESCRIBE_STRUCT(PlannedWork, (), (id, is_new, name, tasks, mcp_server_refs, wants_report, parallel))

struct ModifyWorkflow {
  std::string workflow_id;
  std::optional<std::string> name = {}, agent = {};
  std::optional<std::vector<GitRef>> git_refs = {};
  std::optional<std::vector<PlannedWork>> works = {};
  std::vector<Use> added = {}, mcp_servers = {};  // that it registers at
  Ids removed = {};  // gits
  std::vector<Use> mcp_released = {};
  std::vector<TreePlan> trees = {};  // of the gits that are added
};
BOOST_DESCRIBE_STRUCT(ModifyWorkflow, (),
                      (workflow_id, name, agent, git_refs, works, added, mcp_servers, removed, mcp_released, trees))

struct NextWork {
  std::string workflow_id;
  std::vector<Use> works = {};  // several where they are of one group
  bool unsettled = false;  // worktrees are to be made or removed first
  bool branches = false;  // the works have worktrees of their own
  std::optional<std::string> error = {};  // why those cannot be made
};
BOOST_DESCRIBE_STRUCT(NextWork, (), (workflow_id, works, unsettled, branches, error))

// Before works of a group begin: the checkpoint that they start from, and their own worktrees.
struct BranchWorks {
  std::string workflow_id;
  std::vector<Use> works = {};
  std::string checkpoint_id = {};
  std::vector<TreePlan> trees = {};  // the workflow's, for the checkpoint where it is not there yet
  std::vector<TreePlan> branches = {};  // the works'
  std::optional<std::string> error = {};
};
BOOST_DESCRIBE_STRUCT(BranchWorks, (), (workflow_id, works, checkpoint_id, trees, branches, error))

// After a work: its checkpoint, then the next one.
struct Advance {
  std::string workflow_id, work_id;
  std::vector<TreePlan> trees = {};
  std::optional<std::string> last_run = {};  // of its agents: it may live where its task was completed by word
};
BOOST_DESCRIBE_STRUCT(Advance, (), (workflow_id, work_id, trees, last_run))

struct RunTask {
  std::string workflow_id, work_id;
  int n = 0;
  std::string run = {};  // empty: it is not to run after all
  std::string agent = {}, prompt = {}, folder = {}, space = {};
  int attempt = 0;
  Ids mcp_servers = {};
  std::vector<TreePlan> trees = {};  // that are kept as this run finds them; empty: its preset does not want it
  bool interrupted = false;  // the run before: its traces are removed first
  std::optional<std::string> run_before = {};  // of the task before: it may live where that was completed by word
  Ports ports = {};
  std::optional<std::string> note = {};  // what is to be told of its start
};
BOOST_DESCRIBE_STRUCT(RunTask, (),
                      (workflow_id, work_id, n, run, agent, prompt, folder, space, attempt, mcp_servers, trees,
                       interrupted, run_before, ports, note))

// A checkpoint by hand.
struct TakeCheckpoint {
  std::string workflow_id, checkpoint_id;
  std::vector<TreePlan> trees = {};
};
BOOST_DESCRIBE_STRUCT(TakeCheckpoint, (), (workflow_id, checkpoint_id, trees))

struct TreeRestore {
  std::string repository, path, branch;
  std::string safety, commit;  // what it is now, and what it is to be
};
BOOST_DESCRIBE_STRUCT(TreeRestore, (), (repository, path, branch, safety, commit))

struct RestoreWorkflow {
  std::string workflow_id, checkpoint_id, safety_id;
  std::vector<TreePlan> trees = {};  // all of them: their safety checkpoint
  std::vector<TreeRestore> restores = {};  // those that the checkpoint has
};
BOOST_DESCRIBE_STRUCT(RestoreWorkflow, (), (workflow_id, checkpoint_id, safety_id, trees, restores))

struct TreeHome {
  std::string git_id, repository, path, branch;
  std::string target;  // empty: what HEAD of the repository names
  std::string before = {}, after = {};
  std::vector<std::string> conflicts = {};
};
BOOST_DESCRIBE_STRUCT(TreeHome, (), (git_id, repository, path, branch, target, before, after, conflicts))

// What one work of a group did in one repository.
struct WorkBranch {
  std::string work_name;
  TreePlan tree;
  std::vector<std::string> conflicts = {};
};
BOOST_DESCRIBE_STRUCT(WorkBranch, (), (work_name, tree, conflicts))

// When all works of a group are through: what they did, brought into the workflow's worktrees in their order.
struct JoinWorks {
  std::string workflow_id;
  std::string safety_id = {}, joined_id = {};  // checkpoints before and after
  std::vector<Use> works = {};  // empty: there is nothing to join
  std::vector<TreePlan> trees = {};  // the workflow's
  std::vector<WorkBranch> branches = {};  // that are merged, by work
  std::vector<TreePlan> removals = {};  // all worktrees of the works
  std::vector<TreeRestore> results = {};
};
BOOST_DESCRIBE_STRUCT(JoinWorks, (), (workflow_id, safety_id, joined_id, works, trees, branches, removals, results))

struct IntegrateWorkflow {
  std::string workflow_id, id;
  IntegrationMode mode = IntegrationMode::merge;
  std::optional<std::string> target = {};
  std::string message = {};
  std::vector<TreeHome> trees = {};
};
BOOST_DESCRIBE_STRUCT(IntegrateWorkflow, (), (workflow_id, id, mode, target, message, trees))

// An agent that nobody wants any more.
struct StopAgent {
  std::string run, why;
};
BOOST_DESCRIBE_STRUCT(StopAgent, (), (run, why))

// Something for the mailbox of a run.
struct Letter {
  std::string workflow_id, run, file, text;
};
BOOST_DESCRIBE_STRUCT(Letter, (), (workflow_id, run, file, text))

// A query: to the agent that runs, or by a run of its own.
struct AskAgent {
  std::string workflow_id, work_id, query_id;
  std::string deliver_to = {};  // a run; empty: none
  std::string run = {};  // its own; empty: none
  std::int64_t position = 0;
  std::string agent = {}, prompt = {}, folder = {}, space = {};
  Ids mcp_servers = {};
  Ports ports = {};
};
BOOST_DESCRIBE_STRUCT(AskAgent, (),
                      (workflow_id, work_id, query_id, deliver_to, run, position, agent, prompt, folder, space,
                       mcp_servers, ports))

struct CloneGit {
  std::string git_id, remote, path;
};
BOOST_DESCRIBE_STRUCT(CloneGit, (), (git_id, remote, path))

// What referred to a Git or an McpServer that is gone.
struct ForgetReference {
  std::string id;
  std::optional<std::string> folder;  // of the clone
  std::vector<Use> templates;
};
BOOST_DESCRIBE_STRUCT(ForgetReference, (), (id, folder, templates))

using OutsideHandle = std::shared_ptr<Outside>;

skald::Saga<StartWorkflow> start_saga(const OutsideHandle& outside);
skald::Saga<WorkflowWalk> pause_saga(const OutsideHandle& outside);
skald::Saga<WorkflowWalk> resume_saga(const OutsideHandle& outside);
skald::Saga<WorkflowWalk> cancel_saga(const OutsideHandle& outside);
skald::Saga<WorkflowWalk> delete_saga(const OutsideHandle& outside);
skald::Saga<WorkflowWalk> release_saga();
skald::Saga<SettleTrees> settle_saga(const OutsideHandle& outside);
skald::Saga<ModifyWorkflow> modify_saga(const OutsideHandle& outside, const skald::Saga<SettleTrees>& settle);
skald::Saga<BranchWorks> branch_saga(const OutsideHandle& outside);
skald::Saga<NextWork> next_saga(const skald::Saga<SettleTrees>& settle, const skald::Saga<BranchWorks>& branch);
skald::Saga<JoinWorks> join_saga(const OutsideHandle& outside);
skald::Saga<Advance> advance_saga(const OutsideHandle& outside, const skald::Saga<NextWork>& next);
skald::Saga<TakeCheckpoint> checkpoint_saga(const OutsideHandle& outside);
skald::Saga<RestoreWorkflow> restore_saga(const OutsideHandle& outside);
skald::Saga<IntegrateWorkflow> integrate_saga(const OutsideHandle& outside);
skald::Saga<RunTask> task_saga(const OutsideHandle& outside, skald::Database& db);
skald::Saga<StopAgent> stop_saga(const OutsideHandle& outside);
skald::Saga<StopAgent> dismiss_saga(const OutsideHandle& outside);
skald::Saga<Letter> letter_saga(const OutsideHandle& outside);
skald::Saga<AskAgent> query_saga(const OutsideHandle& outside, skald::Database& db);
skald::Saga<CloneGit> clone_saga(const OutsideHandle& outside);
skald::Saga<ForgetReference> forget_saga(const OutsideHandle& outside);

struct Sagas {
  skald::Saga<StartWorkflow> start;
  skald::Saga<WorkflowWalk> pause, resume, cancel, remove, release;
  skald::Saga<SettleTrees> settle;
  skald::Saga<ModifyWorkflow> modify;
  skald::Saga<BranchWorks> branch;
  skald::Saga<NextWork> next;
  skald::Saga<JoinWorks> join;
  skald::Saga<Advance> advance;
  skald::Saga<TakeCheckpoint> checkpoint;
  skald::Saga<RestoreWorkflow> restore;
  skald::Saga<IntegrateWorkflow> integrate;
  skald::Saga<RunTask> task;
  skald::Saga<StopAgent> stop, dismiss;
  skald::Saga<Letter> letter;
  skald::Saga<AskAgent> query;
  skald::Saga<CloneGit> clone;
  skald::Saga<ForgetReference> forget;
};

}  // namespace agentflow
