// The aggregates as they are stored. One transaction changes one of them, but where a workflow is created.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agentflow/limits.h"
#include "agentflow/repositories.h"
#include "agentflow/states.h"
#include "skald/json.h"
#include "skald/optimistic.h"
#include "skald/process.h"
#include "skald/row.h"

namespace agentflow {

using namespace std::chrono_literals;

using Ids = std::vector<std::string>;

// A column that holds JSON of a type.
template <class T>
T in_column(const skald::RawJson& column) {
  return skald::from_json<T>(column.text);
}
template <class T>
skald::RawJson as_column(const T& value) {
  return {skald::to_json(value)};
}
// Changes what the column holds; whether it has become another.
template <class T, class Change>
bool edit(skald::RawJson& column, Change&& change) {
  T value = in_column<T>(column);
  change(value);
  const std::string before = std::exchange(column.text, skald::to_json(value));
  return before != column.text;
}

struct Git {
  std::string id, name;
  std::optional<std::string> remote = {};
  std::string path;  // of the repository; ours where it was cloned from `remote`
  GitStatus status = GitStatus::READY;
  std::optional<std::string> error = {};
  skald::RawJson active_workflow_ids{"[]"};
  skald::Time created_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Git, (), (id, name, remote, path, status, error, active_workflow_ids, created_at, version))

struct McpServer {
  std::string id, name;
  std::optional<std::string> command = {}, url = {};
  skald::RawJson args{"[]"}, variables{"{}"};  // values of variables may be references to secrets (mcp.h)
  skald::RawJson active_workflow_ids{"[]"};
  skald::Time created_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(McpServer, (),
                      (id, name, command, url, args, variables, active_workflow_ids, created_at, version))

struct Template {
  std::string id, name;
  skald::RawJson body;  // a NewWorkflow without its name
  skald::Time created_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Template, (), (id, name, body, created_at, version))

struct GitRef {
  std::string git_id;
  std::optional<std::string> base_branch;
  bool operator==(const GitRef&) const = default;
};
BOOST_DESCRIBE_STRUCT(GitRef, (), (git_id, base_branch))

using WorkStatuses = std::map<std::string, WorkStatus>;  // by work

// What a worktree was last heard of. `version` is that of the WorkTree: an older one is no news.
struct TreeNote {
  TreeStatus status{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(TreeNote, (), (status, version))
using TreeNotes = std::map<std::string, TreeNote>;  // by git

enum class IntegrationStatus { RUNNING, DONE, FAILED };
BOOST_DESCRIBE_ENUM(IntegrationStatus, RUNNING, DONE, FAILED)

struct TreeConflicts {
  std::string git_id;
  std::vector<std::string> files;
};
BOOST_DESCRIBE_STRUCT(TreeConflicts, (), (git_id, files))

// The last time that a workflow was to be brought home.
struct IntegrationNote {
  std::string id;
  IntegrationStatus status = IntegrationStatus::RUNNING;
  IntegrationMode mode = IntegrationMode::merge;
  std::optional<std::vector<TreeConflicts>> conflicts = {};
  std::optional<std::string> error = {};
};
BOOST_DESCRIBE_STRUCT(IntegrationNote, (), (id, status, mode, conflicts, error))

enum class ModificationStatus { RUNNING, DONE, FAILED };
BOOST_DESCRIBE_ENUM(ModificationStatus, RUNNING, DONE, FAILED)

// The last time that a workflow was to be changed.
struct ModificationNote {
  std::string saga_id;
  ModificationStatus status = ModificationStatus::RUNNING;
  std::optional<std::string> error = {};
};
BOOST_DESCRIBE_STRUCT(ModificationNote, (), (saga_id, status, error))

struct Workflow {
  std::string id, name, agent;
  WorkflowStatus status = WorkflowStatus::CREATED;
  skald::RawJson git_refs{"[]"}, work_ids{"[]"}, work_statuses{"{}"}, work_tree_statuses{"{}"};
  std::optional<std::string> error;
  bool cancel_wanted = false;  // while it is being started: the start takes itself back
  std::optional<std::string> saga_id;  // the last one that moved it
  std::optional<std::string> integration = {};  // an IntegrationNote
  std::optional<std::string> modification = {};  // a ModificationNote
  std::optional<std::string> limits = {};       // WorkflowLimits
  std::optional<std::string> warning = {};      // a limit is near
  std::int64_t ports = 0;                       // that it wants
  skald::Time created_at{}, updated_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Workflow, (),
                      (id, name, agent, status, git_refs, work_ids, work_statuses, work_tree_statuses, error,
                       cancel_wanted, saga_id, integration, modification, limits, warning, ports, created_at,
                       updated_at, version))

struct Task {
  int n = 1;
  std::string prompt;
  std::optional<std::string> agent = {};
  TaskStatus status = TaskStatus::PENDING;
  int attempt = 0;                        // of running it
  std::optional<std::string> run = {};         // of its agent (skald::Runs)
  std::optional<skald::RunOutcome> outcome = {};
  std::optional<int> exit_code = {};
  std::optional<std::string> error = {};
  std::optional<skald::Time> started_at = {}, finished_at = {};
  std::optional<std::int64_t> output_lost = {};  // bytes of its last run that were not kept; none: all were
  std::optional<double> cost = {};  // of all its runs; filled in when it is shown (usage.h)
};
BOOST_DESCRIBE_STRUCT(Task, (),
                      (n, prompt, agent, status, attempt, run, outcome, exit_code, error, started_at, finished_at,
                       output_lost, cost))
using Tasks = std::vector<Task>;

struct Work {
  std::string id, workflow_id, name;
  std::int64_t position = 0;
  WorkStatus status = WorkStatus::PENDING;
  AgentStatus agent_status = AgentStatus::IDLE;
  skald::RawJson mcp_server_refs{"[]"}, tasks{"[]"};
  bool wants_report = false;
  std::optional<std::string> folder = {};  // where its agents work, once it has begun
  std::optional<std::string> parallel = {};  // the name of its group (work_groups.h)
  std::optional<std::string> base_checkpoint = {},
                             joined_checkpoint = {};  // where its group branched off and came back
  std::optional<std::string> error;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Work, (),
                      (id, workflow_id, name, position, status, agent_status, mcp_server_refs, tasks, wants_report,
                       folder, parallel, base_checkpoint, joined_checkpoint, error, version))

// Then it is no longer to be changed or taken out.
inline bool has_begun(const Work& work) {
  return work.status != WorkStatus::PENDING || work.base_checkpoint ||
         std::ranges::any_of(in_column<Tasks>(work.tasks), [](const Task& task) { return task.attempt > 0; });
}

struct WorkTree {
  std::string id;  // workflow and git, and the work where it is a work's own
  std::string git_id, workflow_id, branch, path, repository;
  std::optional<std::string> base_branch = {}, base = {};  // a name, and the commit that it was
  TreeStatus status = TreeStatus::PENDING;
  std::optional<std::string> error = {};
  std::optional<std::string> work_id = {};  // of a group; none: the workflow's own
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(WorkTree, (),
                      (id, git_id, workflow_id, branch, path, repository, base_branch, base, status, error, work_id,
                       version))

struct Space {
  std::string workflow_id, folder;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Space, (), (workflow_id, folder, version))

// One that the workflow's agents may listen on.
struct Port {
  std::int64_t port = 0;
  std::string workflow_id;
};
BOOST_DESCRIBE_STRUCT(Port, (), (port, workflow_id))

struct Report {
  std::string work_id, workflow_id;
  std::optional<std::string> body = {};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Report, (), (work_id, workflow_id, body, version))

struct TreeCommit {
  std::string git_id, commit;
};
BOOST_DESCRIBE_STRUCT(TreeCommit, (), (git_id, commit))

// Appended and never changed.
struct Checkpoint {
  std::string id, workflow_id;
  std::optional<std::string> work_id = {};
  skald::RawJson commits{"[]"};
  skald::Time created_at{};
};
BOOST_DESCRIBE_STRUCT(Checkpoint, (), (id, workflow_id, work_id, commits, created_at))

inline bool refers_to(const Workflow& workflow, const std::string& git_id) {
  const auto refs = in_column<std::vector<GitRef>>(workflow.git_refs);
  return std::ranges::find(refs, git_id, &GitRef::git_id) != refs.end();
}

inline std::string tree_id(const std::string& workflow_id, const std::string& git_id,
                           const std::optional<std::string>& work_id = {}) {
  return workflow_id + "." + git_id + (work_id ? "." + *work_id : "");
}

inline void add_id(skald::RawJson& column, const std::string& id) {
  edit<Ids>(column, [&](Ids& ids) {
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  });
}
inline bool remove_id(skald::RawJson& column, const std::string& id) {
  return edit<Ids>(column, [&](Ids& ids) { std::erase(ids, id); });
}
inline bool has_id(const skald::RawJson& column, const std::string& id) {
  const Ids ids = in_column<Ids>(column);
  return std::ranges::find(ids, id) != ids.end();
}

}  // namespace agentflow

template <> struct skald::Table<agentflow::Git> {
  static constexpr std::string_view name = "flow_git", key = "id", resource = "git";
};
template <> struct skald::Table<agentflow::McpServer> {
  static constexpr std::string_view name = "flow_mcp_server", key = "id", resource = "mcp server";
};
template <> struct skald::Table<agentflow::Template> {
  static constexpr std::string_view name = "flow_template", key = "id";
};
template <> struct skald::Table<agentflow::Workflow> {
  static constexpr std::string_view name = "flow_workflow", key = "id", resource = "workflow";
};
template <> struct skald::Table<agentflow::Work> {
  static constexpr std::string_view name = "flow_work", key = "id", resource = "work";
};
template <> struct skald::Table<agentflow::WorkTree> {
  static constexpr std::string_view name = "flow_work_tree", key = "id", resource = "worktree";
};
template <> struct skald::Table<agentflow::Space> {
  static constexpr std::string_view name = "flow_space", key = "workflow_id";
};
template <> struct skald::Table<agentflow::Port> {
  static constexpr std::string_view name = "flow_port", key = "port";
};
template <> struct skald::Table<agentflow::Report> {
  static constexpr std::string_view name = "flow_report", key = "work_id";
};
template <> struct skald::Table<agentflow::Checkpoint> {
  static constexpr std::string_view name = "flow_checkpoint", key = "id";
};
