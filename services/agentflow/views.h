// What clients send and are shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentflow/ports.h"
#include "agentflow/record.h"
#include "skald/database.h"
#include "skald/http.h"
#include "skald/schema.h"

namespace agentflow {

struct NewGit {
  std::string name;
  std::optional<std::string> remote, path;
};
BOOST_DESCRIBE_STRUCT(NewGit, (), (name, remote, path))

struct NewMcpServer {
  std::string name;
  std::optional<std::string> command, url;
  std::optional<std::vector<std::string>> args;
  std::optional<skald::Variables> env;
};
BOOST_DESCRIBE_STRUCT(NewMcpServer, (), (name, command, url, args, env))

struct NewTask {
  std::string prompt;
  std::optional<std::string> agent;
};
BOOST_DESCRIBE_STRUCT(NewTask, (), (prompt, agent))

struct NewWork {
  std::string name;
  std::vector<NewTask> tasks;
  std::optional<Ids> mcp_server_refs;
  std::optional<bool> wants_report;
  std::optional<std::string> parallel = {};  // with the works beside it that say the same
};
BOOST_DESCRIBE_STRUCT(NewWork, (), (name, tasks, mcp_server_refs, wants_report, parallel))

// What a workflow is to do: a template's body, and a part of a new workflow.
struct Plan {
  std::optional<std::string> agent;
  std::vector<GitRef> git_refs;
  std::vector<NewWork> works;
  std::optional<std::int64_t> ports = {};  // that its agents may listen on; none unless it says
};
BOOST_DESCRIBE_STRUCT(Plan, (), (agent, git_refs, works, ports))

struct NewTemplate {
  std::string name;
  std::optional<std::string> agent;
  std::vector<GitRef> git_refs;
  std::vector<NewWork> works;
  std::optional<std::int64_t> ports = {};
};
BOOST_DESCRIBE_STRUCT(NewTemplate, (), (name, agent, git_refs, works, ports))

// Its plan, or the template that has one.
struct NewWorkflow {
  std::string name;
  std::optional<std::string> template_id = {}, agent = {};
  std::optional<std::vector<GitRef>> git_refs = {};
  std::optional<std::vector<NewWork>> works = {};
  std::optional<WorkflowLimits> limits = {};
  std::optional<std::int64_t> ports = {};  // instead of the template's
};
BOOST_DESCRIBE_STRUCT(NewWorkflow, (), (name, template_id, agent, git_refs, works, limits, ports))

struct Resumption {
  std::optional<WorkflowLimits> limits;
};
BOOST_DESCRIBE_STRUCT(Resumption, (), (limits))

struct Instance {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(Instance, (), (name))

struct GitView {
  std::string id, name, path;
  std::optional<std::string> remote;
  GitStatus status{};
  std::optional<std::string> error;
  Ids active_workflow_ids;
  skald::Time created_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(GitView, (), (id, name, path, remote, status, error, active_workflow_ids, created_at, version))

// Variables are never shown, only their names.
struct McpServerView {
  std::string id, name;
  std::optional<std::string> command, url;
  std::vector<std::string> args, env_names;
  Ids active_workflow_ids;
  skald::Time created_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(McpServerView, (),
                      (id, name, command, url, args, env_names, active_workflow_ids, created_at, version))

struct TemplateView {
  std::string id, name;
  std::optional<std::string> agent;
  std::vector<GitRef> git_refs;
  std::vector<NewWork> works;
  std::optional<std::int64_t> ports;
  skald::Time created_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(TemplateView, (), (id, name, agent, git_refs, works, ports, created_at, version))

struct WorkSummary {
  std::string id, name;
  WorkStatus status{};
};
BOOST_DESCRIBE_STRUCT(WorkSummary, (), (id, name, status))

struct TreeView {
  std::string git_id, branch, path;
  TreeStatus status{};
  std::optional<std::string> error;
  std::optional<std::string> work_id = {};  // whose own it is; none: the workflow's
};
BOOST_DESCRIBE_STRUCT(TreeView, (), (git_id, branch, path, status, error, work_id))

struct WorkflowView {
  std::string id, name, agent;
  WorkflowStatus status{};
  std::vector<std::string> allowed;  // what may be asked of it now
  std::vector<GitRef> git_refs;
  std::vector<WorkSummary> works;
  std::vector<TreeView> work_trees;
  std::optional<std::string> space, error, saga_id;
  std::optional<IntegrationNote> integration;
  std::optional<ModificationNote> modification;
  std::optional<WorkflowLimits> limits;
  std::optional<std::string> warning;  // a limit is near
  std::optional<double> cost;          // as far as its agents have told
  double seconds = 0;                  // that its agents ran
  std::int64_t ports = 0;              // that it wants
  Ports port_numbers;                  // that it has: SKALD_PORT_1, …
  skald::Time created_at{}, updated_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(WorkflowView, (),
                      (id, name, agent, status, allowed, git_refs, works, work_trees, space, error, saga_id,
                       integration, modification, limits, warning, cost, seconds, ports, port_numbers, created_at,
                       updated_at, version))

struct OpenQuestion {
  std::string id, text;
  skald::Time asked_at{};
};
BOOST_DESCRIBE_STRUCT(OpenQuestion, (), (id, text, asked_at))

struct WorkView {
  std::string id, workflow_id, name;
  std::int64_t order = 0;
  WorkStatus status{};
  AgentStatus agent_status{};
  std::optional<std::string> error;
  Ids mcp_server_refs;
  bool wants_report = false;
  std::optional<std::string> parallel = {};
  Tasks tasks;
  std::optional<OpenQuestion> question;  // that it waits for, or the first of several
  std::int64_t version = 0;
  std::optional<double> cost = {};  // as far as its agents have told
};
BOOST_DESCRIBE_STRUCT(WorkView, (),
                      (id, workflow_id, name, order, status, agent_status, error, mcp_server_refs, wants_report,
                       parallel, tasks, question, version, cost))

struct CheckpointView {
  std::string id;
  std::optional<std::string> work_id;
  skald::Time created_at{};
  std::vector<TreeCommit> commits;
};
BOOST_DESCRIBE_STRUCT(CheckpointView, (), (id, work_id, created_at, commits))

GitView view_of(const Git& git);
McpServerView view_of(const McpServer& server);
TemplateView view_of(const Template& row);
WorkView view_of(skald::Transaction& tx, const Work& work);
CheckpointView view_of(const Checkpoint& checkpoint);
WorkflowView view_of(skald::Transaction& tx, const Workflow& workflow);

inline constexpr std::size_t kNameMax = 100, kPromptMax = 100'000, kPathMax = 4'096;
inline constexpr std::size_t kWorksMax = 100, kTasksMax = 100, kRefsMax = 50;

// Invalid (BAD_NAME, …) says what is wanted.
void check(const NewGit& git);
void check(const NewMcpServer& server);
void check(const Plan& plan);
void check_name(const std::string& name);

}  // namespace agentflow

template <> struct skald::Limits<agentflow::NewGit> {
  static constexpr skald::MemberLimit of[] = {{"name", 1, agentflow::kNameMax}};
};
template <> struct skald::Limits<agentflow::NewTemplate> {
  static constexpr skald::MemberLimit of[] = {{"ports", 0, agentflow::kPortsMax}};
};
template <> struct skald::Limits<agentflow::NewWorkflow> {
  static constexpr skald::MemberLimit of[] = {{"ports", 0, agentflow::kPortsMax}};
};
template <> struct skald::Limits<agentflow::NewTask> {
  static constexpr skald::MemberLimit of[] = {{"prompt", 1, agentflow::kPromptMax}};
};
template <> struct skald::Limits<agentflow::NewWork> {
  static constexpr skald::MemberLimit of[] = {{"name", 1, agentflow::kNameMax}, {"tasks", 1, agentflow::kTasksMax}};
};
