// Asking an agent: the one that runs finds the query in its mailbox; where none does, a new one is started for it.
#include "agentflow/agent_launch.h"
#include "agentflow/agent_places.h"
#include "agentflow/mailbox.h"
#include "agentflow/mcp_file.h"
#include "agentflow/presets.h"
#include "agentflow/queries.h"
#include "agentflow/task_end.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

// The run of the work's task under way; empty: there is none.
std::string run_under_way(const Work& work) {
  for (const Task& task : in_column<Tasks>(work.tasks))
    if (task.status == TaskStatus::RUNNING) return task.run.value_or("");
  return "";
}

std::string agent_of(const Work& work, const Workflow& workflow) {
  std::string agent = workflow.agent;
  for (const Task& task : in_column<Tasks>(work.tasks))
    if (task.attempt > 0) agent = task.agent.value_or(workflow.agent);
  return agent;
}

// A work that runs and has no agent just now gets its next one: that finds the query when it begins.
void choose_agent(const Outside& outside, Local& step, AskAgent& ask) {
  ask.deliver_to.clear(), ask.run.clear();
  const auto query = step->find<Query>(ask.query_id);
  const auto work = step->find<Work>(ask.work_id);
  if (!query || !work || query->status != QueryStatus::SENT) return;
  ask.prompt = query->text, ask.position = query->position;
  ask.space = outside.space_of(ask.workflow_id);
  if (work->status == WorkStatus::RUNNING) {
    ask.deliver_to = run_under_way(*work);
    return;
  }
  const Workflow workflow = skald::found<Workflow>(step.tx(), ask.workflow_id);
  if (workflow.status == WorkflowStatus::DELETING) return;
  refuse_without_place(outside, step.tx(), workflow);
  ask.run = query->id + ".1";
  ask.agent = agent_of(*work, workflow);
  ask.mcp_servers = in_column<Ids>(work->mcp_server_refs);
  ask.ports = ports_of(step.tx(), workflow.id);
  const auto refs = in_column<std::vector<GitRef>>(workflow.git_refs);
  const auto tree = refs.empty() ? std::nullopt : step->find<WorkTree>(tree_id(workflow.id, refs[0].git_id));
  ask.folder = tree ? tree->path : ask.space;
  skald::change<Query>(step.tx(), query->id, [&](Query& row) {
    row.status = QueryStatus::RUNNING;
    row.run = ask.run;
  });
}

void fail_query(Local& step, AskAgent& ask) {
  if (ask.run.empty() || !step->find<Query>(ask.query_id)) return;
  const auto why = step.context().failure;
  skald::change<Query>(step.tx(), ask.query_id, [&](Query& row) {
    if (row.status != QueryStatus::RUNNING) return;
    row.status = QueryStatus::FAILED;
    row.error = why ? why->code + ": " + why->message : "it was given up by an operator";
    row.answered_at = step->now();
  });
  free_places(step.tx(), ask.workflow_id,
              [&](const std::string& kind, const std::string& name) { step.freed(kind, name); });
}

// Nothing where the query has been stopped with its workflow meanwhile.
bool is_asked(skald::Database& db, const AskAgent& ask) {
  return db.read_result([&](skald::Transaction& tx) {
    const auto query = tx.find<Query>(ask.query_id);
    const auto workflow = tx.find<Workflow>(ask.workflow_id);
    return query && query->status == QueryStatus::RUNNING && workflow && workflow->status != WorkflowStatus::DELETING;
  });
}

void launch_query(Outside& outside, skald::Database& db, const AskAgent& ask) {
  if (!is_asked(db, ask)) return;
  if (const auto seen = outside.agents().look(ask.run); seen && (seen->pid != 0 || seen->end)) return;
  const std::string mcp_file = ask.space + "/" + ask.query_id + ".mcp.json";
  write_mcp_file(outside, db, ask.mcp_servers, ask.folder, "", mcp_file);
  launch_agent(outside, db,
               {.run = ask.run,
                .agent = ask.agent,
                .prompt = ask.prompt,
                .folder = ask.folder,
                .space = ask.space,
                .mcp_file = mcp_file,
                .workflow_id = ask.workflow_id,
                .work_id = ask.work_id,
                .n = 0,
                .attempt = 1,
                .ports = ask.ports},
               ask.mcp_servers);
  if (!is_asked(db, ask)) outside.agents().stop(ask.run, "its workflow was deleted while it was being started");
}

// Without a mailbox the agent is about to be launched, and its launch looks for queries after it has made one.
void deliver_query(const AskAgent& ask) {
  if (const auto mailbox = Mailbox::at(ask.space, ask.deliver_to))
    mailbox->write(query_file(ask.position), skald::to_json(MailQuery{ask.query_id, ask.prompt}));
}

}  // namespace

skald::Saga<AskAgent> query_saga(const OutsideHandle& outside, skald::Database& db) {
  return skald::Saga<AskAgent>("agentflow.query")
      .local("choose agent", [outside](Local& step, AskAgent& ask) { choose_agent(*outside, step, ask); })
      .undo(fail_query)
      .writes("query", Guard::idempotency_key)  // its id: it is taken once
      .reads("plan")
      .remote("deliver", [](Remote&, AskAgent& ask) { deliver_query(ask); })
      .nothing_to_undo()
      .when([](const AskAgent& ask) { return !ask.deliver_to.empty(); })
      .retry(3, 500ms)
      .remote("launch", [outside, &db](Remote&, AskAgent& ask) { launch_query(*outside, db, ask); })
      .undo([outside](Remote&, AskAgent& ask) { outside->agents().stop(ask.run, "its query was given up"); })
      .when([](const AskAgent& ask) { return !ask.run.empty(); })
      .retry(3, 500ms)
      .timeout(120s);
}

}  // namespace agentflow
