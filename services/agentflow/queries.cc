#include "agentflow/queries.h"

#include "agentflow/agent_places.h"
#include "agentflow/events.h"
#include "agentflow/task_end.h"
#include "skald/text.h"

namespace agentflow {
namespace {

using skald::Transaction;

constexpr std::int64_t kOutputSeen = 64 << 10;  // bytes of an output that are the answer: its last ones

void say_responded(Transaction& tx, const Query& query) {
  say(tx, kQueryResponded, query.work_id, query.id, AskEvent{query.workflow_id, query.work_id, query.id});
}

std::string end_of_output(const Flow& flow, const std::string& run) {
  const auto view = flow.outside->agents().look(run);
  const std::int64_t begin = std::max<std::int64_t>(0, (view ? view->output_bytes : 0) - kOutputSeen);
  std::string text = flow.outside->agents().output(run, begin, kOutputSeen);
  std::erase(text, '\0');  // no database keeps it in a text
  return skald::cut_text(text, kOutputSeen);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::optional<std::string> query_of_run(std::string_view run) {
  const std::size_t last = run.rfind('.');
  if (last == run.npos || !is_number(run.substr(last + 1))) return std::nullopt;
  const std::string_view query = run.substr(0, last);
  const std::size_t mark = query.rfind(".q");
  if (mark == query.npos || mark == 0 || !is_number(query.substr(mark + 2))) return std::nullopt;
  return std::string(query);
}

void begin_query(const Flow& flow, Transaction& tx, const Query& query) {
  flow.engine.sagas().start_in(
      tx, flow.sagas.query, AskAgent{.workflow_id = query.workflow_id, .work_id = query.work_id, .query_id = query.id},
      {.key = query.id, .on_duplicate = skald::OnDuplicate::allow});
}

std::vector<Query> sent_queries(Transaction& tx, const std::string& work_id) {
  return tx.select<Query>("WHERE work_id = $1 AND status = 'SENT' ORDER BY position", work_id);
}

void respond(Transaction& tx, const std::string& query_id, const std::string& answer) {
  if (!tx.find<Query>(query_id)) return;
  bool responded = false;
  const Query now = skald::change<Query>(tx, query_id, [&](Query& row) {
    responded = row.status == QueryStatus::SENT || row.status == QueryStatus::RUNNING;
    if (!responded) return;
    row.status = QueryStatus::RESPONDED;
    row.answer = answer;
    row.answered_at = tx.now();
  });
  if (!responded) return;
  say_responded(tx, now);
  const auto report = tx.find<Report>(now.work_id);
  if (report && !report->body) keep_report(tx, now.work_id, answer);
}

void end_query(const Flow& flow, Transaction& tx, const std::string& run, const skald::RunEnd& end) {
  const auto query = tx.find<Query>(query_of_run(run).value_or(""));
  free_places(tx, query ? query->workflow_id : "",
              [&](const std::string& kind, const std::string& name) { flow.engine.sagas().freed(tx, kind, name); });
  if (!query || query->status != QueryStatus::RUNNING || query->run != run) return;
  if (end.outcome == skald::RunOutcome::FINISHED) return respond(tx, query->id, end_of_output(flow, run));
  const Query now = skald::change<Query>(tx, query->id, [&](Query& row) {
    row.status = QueryStatus::FAILED;
    row.error = told(end) + "; send the query again";
    row.answered_at = tx.now();
  });
  say_responded(tx, now);
}

void note_query_runs(Transaction& tx, const std::string& work_id, std::vector<std::string>& runs) {
  for (const Query& query : tx.select<Query>("WHERE work_id = $1 AND run IS NOT NULL ORDER BY position", work_id))
    runs.push_back(*query.run);
}

bool keep_report(Transaction& tx, const std::string& work_id, const std::string& body) {
  if (!tx.find<Report>(work_id)) return false;
  const Report report = skald::change<Report>(tx, work_id, [&](Report& row) { row.body = body; });
  say(tx, kReportCompleted, report.workflow_id, work_id, AskEvent{report.workflow_id, work_id, work_id});
  return true;
}

}  // namespace agentflow
