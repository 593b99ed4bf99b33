// GET /agentflow/works/{id} · POST …/{id}/tasks/{n}/complete · GET …/{id}/report, …/{id}/tasks/{n}/output
#include "agentflow/events.h"
#include "agentflow/listing.h"
#include "agentflow/presets.h"
#include "agentflow/task_end.h"
#include "agentflow/usage.h"
#include "agentflow/views.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

constexpr std::size_t kOutputMax = 1 << 20;  // bytes of one answer

struct ReportView {
  std::string work_id;
  std::optional<std::string> body;
};
BOOST_DESCRIBE_STRUCT(ReportView, (), (work_id, body))

Work work_named(Transaction& tx, const Request& request) {
  auto work = tx.find<Work>(request.param("id"));
  if (!work) throw skald::NotFound("WORK_NOT_FOUND", "there is no work with this id");
  return *work;
}

Task task_named(Transaction& tx, const Request& request) {
  const Tasks tasks = in_column<Tasks>(work_named(tx, request).tasks);
  for (const Task& task : tasks)
    if (std::to_string(task.n) == request.param("n")) return task;
  throw skald::NotFound("TASK_NOT_FOUND", "the work has no task of this number; they count from 1");
}

// By word instead of by its agent's exit; the agent is ended.
Response complete(const Flow& flow, const Request& request, Transaction& tx) {
  const Work work = work_named(tx, request);
  const Task task = task_named(tx, request);
  const bool done = complete_task(tx, work.id, task.n, [&](Task& one) {
    one.outcome = skald::RunOutcome::FINISHED;
    one.finished_at = tx.now();
  });
  if (!done && task.status != TaskStatus::COMPLETED)
    throw skald::Refused("WRONG_STATE", "the task is " + std::string(skald::enum_name(task.status)) +
                                            ": only one that is RUNNING can be completed");
  if (done && task.run)
    flow.engine.sagas().start_in(tx, flow.sagas.stop, StopAgent{*task.run, "its task was completed by word"},
                                 {.key = *task.run});
  return Response::json(200, with_usage(tx, view_of(tx, skald::found<Work>(tx, work.id))));
}

std::int64_t offset_of(const Request& request) {
  const std::string text = request.query_value("offset").value_or("0");
  if (text.empty() || text.size() > 15 || text.find_first_not_of("0123456789") != text.npos)
    throw skald::Invalid("BAD_OFFSET", "offset is a number of bytes, 0 or more");
  return std::stoll(text);
}

Response output(const Flow& flow, const Request& request) {
  const Task task = flow.db().read_result([&](Transaction& tx) { return task_named(tx, request); });
  Response response =
      Response::text(task.run ? flow.outside->agents().output(*task.run, offset_of(request), kOutputMax) : "");
  response.content_type = "application/octet-stream";  // an agent's bytes are nobody's page
  return response;
}

}  // namespace

void add_work_paths(const FlowHandle& flow, skald::Router& router) {
  router.get("/agentflow/works/{id}", Access::admin, skald::describe<void, WorkView>("A work with its tasks"),
             [flow](const Request& request) {
               return flow->db().read_result([&](Transaction& tx) {
                 return Response::json(200, with_usage(tx, view_of(tx, work_named(tx, request))));
               });
             });
  router.post(flow->db(), "/agentflow/works/{id}/tasks/{n}/complete", Access::admin,
              skald::describe<void, WorkView>("Say that a task is done"),
              [flow](const Request& request, Transaction& tx) { return complete(*flow, request, tx); });
  router.get("/agentflow/works/{id}/report", Access::admin,
             skald::describe<void, ReportView>("What the agent reported"), [flow](const Request& request) {
               return flow->db().read_result([&](Transaction& tx) {
                 const auto report = tx.find<Report>(work_named(tx, request).id);
                 if (!report) throw skald::NotFound("NO_REPORT", "this work wants no report");
                 return Response::json(200, ReportView{report->work_id, report->body});
               });
             });
  skald::Doc doc = skald::describe<void, void>("What a task's agent has written, from an offset on", 200, {"offset"});
  doc.content_type = "application/octet-stream";
  router.get("/agentflow/works/{id}/tasks/{n}/output", Access::admin, doc,
             [flow](const Request& request) { return output(*flow, request); });
}

}  // namespace agentflow
