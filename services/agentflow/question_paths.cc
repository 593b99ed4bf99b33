// GET /agentflow/questions · GET /agentflow/works/{id}/questions · POST …/{id}/questions/{question}
#include "agentflow/ask_views.h"
#include "agentflow/listing.h"
#include "agentflow/questions.h"

namespace agentflow {

namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

QuestionView view_of_question(const Question& row) {
  return {row.id,   row.work_id,    row.workflow_id, row.n,      row.status,
          row.text, row.created_at, row.answer,      row.reason, row.answered_at};
}

// By id: those of one work stand together, and an answer moves none.
Response list_questions(const Flow& flow, const Request& request, const std::optional<std::string>& work_id) {
  const skald::Page page = skald::Page::of(request);
  skald::enum_filter<QuestionStatus>(request, "status");
  const auto status = request.query_value("status");
  skald::Conditions conditions;
  std::vector<std::string> after;
  if (work_id) conditions.add("work_id = " + conditions.bind(*work_id));
  if (status) conditions.add("status = " + conditions.bind(*status));
  if (page.cursor) {
    after = page.after(1);
    conditions.add("id > " + conditions.bind(after[0]));
  }
  const std::string limit = conditions.bind(page.limit + 1);
  std::vector<QuestionView> views;
  flow.db().read([&](Transaction& tx) {
    views.clear();
    if (work_id && !tx.find<Work>(*work_id)) throw skald::NotFound("WORK_NOT_FOUND", "there is no work with this id");
    for (const Question& row :
         tx.select<Question>(conditions.where() + " ORDER BY id LIMIT " + limit, conditions.params()))
      views.push_back(view_of_question(row));
  });
  return Response::json(
      200, page.cut(std::move(views), [](const QuestionView& last) { return skald::Page::cursor_at({last.id}); }));
}

Response answer(const Flow& flow, const Request& request, Transaction& tx) {
  const auto asked = request.as<NewAnswer>();
  check_ask_text("answer", asked.answer);
  const auto question = tx.find<Question>(request.param("question"));
  if (!question || question->work_id != request.param("id"))
    throw skald::NotFound("QUESTION_NOT_FOUND", "the work has no question of this id");
  const Question now = answer_question(flow, tx, question->id, asked.answer);
  tx.after_commit([publish = flow.outside->options.publish] { publish(kTopic); });
  return Response::json(200, view_of_question(now));
}

}  // namespace

void add_question_paths(const FlowHandle& flow, skald::Router& router) {
  router.get("/agentflow/questions", Access::admin,
             skald::describe<void, skald::Listing<QuestionView>>("What agents ask people", 200, {"status"}),
             [flow](const Request& request) { return list_questions(*flow, request, std::nullopt); });
  router.get("/agentflow/works/{id}/questions", Access::admin,
             skald::describe<void, skald::Listing<QuestionView>>("What the agents of a work ask", 200, {"status"}),
             [flow](const Request& request) { return list_questions(*flow, request, request.param("id")); });
  router.post(flow->db(), "/agentflow/works/{id}/questions/{question}", Access::admin,
              skald::describe<NewAnswer, QuestionView>("Answer an agent"),
              [flow](const Request& request, Transaction& tx) { return answer(*flow, request, tx); });
}

}  // namespace agentflow
