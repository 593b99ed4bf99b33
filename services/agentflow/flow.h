// What the parts of this service share. Kept alive by the handlers that hold it.
#pragma once

#include <memory>
#include <string>

#include "agentflow/agentflow.h"
#include "agentflow/record.h"
#include "agentflow/sagas.h"
#include "agentflow/watching.h"
#include "skald/aggregate.h"
#include "skald/process.h"
#include "skald/row_locks.h"

template <> struct skald::OnConflict<agentflow::Git> {
  static constexpr int retries = 3;
};
template <> struct skald::OnConflict<agentflow::McpServer> {
  static constexpr int retries = 3;
};
template <> struct skald::OnConflict<agentflow::Workflow> {
  static constexpr int retries = 3;
};
template <> struct skald::OnConflict<agentflow::Work> {
  static constexpr int retries = 3;
};

namespace agentflow {

// The order in which rows are locked; handlers of events lock none.
inline const skald::LockRanks kRanks{"flow_git",      "flow_mcp_server", "flow_work_tree", "flow_space",
                                     "flow_workflow", "flow_work",       "flow_report",    "flow_checkpoint"};

inline constexpr std::string_view kTopic = "agentflow";  // published when something may have changed

// Git, processes and folders: what steps reach outside of the database.
struct Outside {
  skald::Env env;
  Options options;

  Agents& agents() const { return *options.agents; }
  Spaces& spaces() const { return *options.spaces; }
  std::string space_of(const std::string& workflow_id) const { return options.folder + "/spaces/" + workflow_id; }
  std::string clone_of(const std::string& git_id) const { return options.folder + "/clones/" + git_id; }
};
using OutsideHandle = std::shared_ptr<Outside>;

struct Flow {
  skald::Engine& engine;
  skald::Env env;
  OutsideHandle outside;
  Sagas sagas;
  std::shared_ptr<Watching> watching = std::make_shared<Watching>(env.clock);

  skald::Database& db() const { return engine.database(); }
};
using FlowHandle = std::shared_ptr<const Flow>;

// A workflow moved as the table of states says, with what else changes with it.
template <class Rule>
Workflow move(skald::Transaction& tx, const std::string& id, WorkflowMove how, Rule&& rule) {
  return skald::change<Workflow>(tx, id, [&](Workflow& workflow) {
    workflow.status = after(workflow.status, how);
    workflow.updated_at = tx.now();
    rule(workflow);
  });
}
inline Workflow move(skald::Transaction& tx, const std::string& id, WorkflowMove how) {
  return move(tx, id, how, [](Workflow&) {});
}

std::optional<std::string> space_of_work(const Flow& flow, const std::string& work_id);
std::vector<Work> works_of(skald::Transaction& tx, const std::string& workflow_id);
std::vector<WorkTree> trees_of(skald::Transaction& tx, const std::string& workflow_id);
bool has_running_work(skald::Transaction& tx, const std::string& workflow_id);
inline Tree tree_of(const WorkTree& row) { return {row.repository, row.path, row.branch}; }
// Those that any work of it refers to, sorted.
Ids mcp_servers_of(const std::vector<Work>& works);

// A template without what it says of that Git or McpServer, which is gone.
void drop_reference(skald::Transaction& tx, const std::string& template_id, const std::string& gone);

void add_git_paths(const FlowHandle& flow, skald::Router& router);
void add_mcp_paths(const FlowHandle& flow, skald::Router& router);
void add_template_paths(const FlowHandle& flow, skald::Router& router);
void add_workflow_paths(const FlowHandle& flow, skald::Router& router);
void add_modify_path(const FlowHandle& flow, skald::Router& router);
void add_work_paths(const FlowHandle& flow, skald::Router& router);
void add_question_paths(const FlowHandle& flow, skald::Router& router);
void add_query_paths(const FlowHandle& flow, skald::Router& router);
void add_agents_path(const FlowHandle& flow, skald::Router& router);
void add_checkpoint_paths(const FlowHandle& flow, skald::Router& router);
void add_integrate_path(const FlowHandle& flow, skald::Router& router);
void add_story_paths(const FlowHandle& flow, skald::Router& router);
void add_output_path(const FlowHandle& flow, skald::Router& router);
void add_diff_path(const FlowHandle& flow, skald::Router& router);
void add_consumers(const FlowHandle& flow);
void add_ask_consumers(const FlowHandle& flow);
void add_invariants(const FlowHandle& flow, skald::Router& router);

}  // namespace agentflow
