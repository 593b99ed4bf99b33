// GET, POST /agentflow/works/{id}/queries
#include "agentflow/ask_views.h"
#include "agentflow/events.h"
#include "agentflow/listing.h"
#include "agentflow/queries.h"

namespace agentflow {

namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

QueryView view_of_query(const Query& row) {
  return {row.id, row.work_id, row.status, row.text, row.created_at, row.answer, row.error, row.answered_at};
}

Work asked_work(Transaction& tx, const Request& request) {
  auto work = tx.find<Work>(request.param("id"));
  if (!work) throw skald::NotFound("WORK_NOT_FOUND", "there is no work with this id");
  return *work;
}

void refuse_query_too_early(Transaction& tx, const Work& work) {
  const Workflow workflow = skald::found<Workflow>(tx, work.workflow_id);
  const Tasks tasks = in_column<Tasks>(work.tasks);
  const bool has_begun = std::ranges::any_of(tasks, [](const Task& task) { return task.attempt > 0; });
  if ((!has_begun && work.status != WorkStatus::RUNNING) || workflow.status == WorkflowStatus::DELETING)
    throw skald::Refused("NO_AGENT_TO_ASK", "the work has no agent that could answer; ask when it has begun");
}

Response send_query(const Flow& flow, const Request& request, Transaction& tx) {
  const auto asked = request.as<NewQuery>();
  check_ask_text("text", asked.text);
  const Work work = asked_work(tx, request);
  refuse_query_too_early(tx, work);
  skald::change<Work>(tx, work.id, [](Work&) {});  // two that ask at once get a place each
  const std::int64_t count =
      tx.query("SELECT COUNT(*) FROM flow_query WHERE work_id = $1", work.id).get<std::int64_t>(0, 0);
  if (count >= kQueriesMax) throw skald::Refused("TOO_MANY_QUERIES", "a work takes 100 queries, and this one has them");
  const Query query{.id = work.id + ".q" + std::to_string(count + 1),
                    .workflow_id = work.workflow_id,
                    .work_id = work.id,
                    .position = count + 1,
                    .text = asked.text,
                    .created_at = tx.now()};
  tx.insert(query);
  say(tx, kQuerySent, work.id, query.id, AskEvent{work.workflow_id, work.id, query.id});
  tx.after_commit([publish = flow.outside->options.publish] { publish(kTopic); });
  return Response::json(201, view_of_query(query));
}

// All of them: a work takes a hundred.
Response list_queries(Transaction& tx, const Request& request) {
  std::vector<QueryView> out;
  for (const Query& row : tx.select<Query>("WHERE work_id = $1 ORDER BY position", asked_work(tx, request).id))
    out.push_back(view_of_query(row));
  return Response::json(200, skald::Listing<QueryView>{std::move(out), {}});
}

}  // namespace

void add_query_paths(const FlowHandle& flow, skald::Router& router) {
  router.get("/agentflow/works/{id}/queries", Access::admin,
             skald::describe<void, skald::Listing<QueryView>>("What people have asked the agents of a work"),
             [flow](const Request& request) {
               return flow->db().read_result([&](Transaction& tx) { return list_queries(tx, request); });
             });
  router.post(flow->db(), "/agentflow/works/{id}/queries", Access::admin,
              skald::describe<NewQuery, QueryView>("Ask the agent of a work", 201),
              [flow](const Request& request, Transaction& tx) { return send_query(*flow, request, tx); });
}

}  // namespace agentflow
