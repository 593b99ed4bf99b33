#include "agentflow/brief.h"

#include "agentflow/queries.h"
#include "agentflow/questions.h"

namespace agentflow {
namespace {

struct FirstMail {
  Brief brief;
  std::vector<Query> queries;
};

FirstMail first_mail(skald::Transaction& tx, const RunTask& run) {
  const Workflow workflow = skald::found<Workflow>(tx, run.workflow_id);
  const Work work = skald::found<Work>(tx, run.work_id);
  FirstMail out{.brief = {.workflow = {workflow.id, workflow.name},
                          .work = {work.id, work.name},
                          .task = {run.n, run.prompt},
                          .wants_report = work.wants_report,
                          .works = {},
                          .answers = {},
                          .queries = {}},
                .queries = sent_queries(tx, work.id)};
  for (const Work& one : works_of(tx, workflow.id)) out.brief.works.push_back({one.id, one.name, one.status});
  for (const Question& question : answered_questions(tx, work.id, run.n))
    out.brief.answers.push_back({question.text, question.answer.value_or("")});
  return out;
}

}  // namespace

void fill_mailbox(const Outside& outside, skald::Database& db, const RunTask& run) {
  // Made before the queries are looked for: one that comes meanwhile finds the mailbox, or is found here.
  const Mailbox mailbox = Mailbox::make(outside.space_of(run.workflow_id), run.run);
  const FirstMail mail = db.read_result([&](skald::Transaction& tx) { return first_mail(tx, run); });
  for (const Query& query : mail.queries)
    mailbox.write(query_file(query.position), skald::to_json(MailQuery{query.id, query.text}));
  mailbox.write(kBriefFile, skald::to_json(mail.brief));
}

}  // namespace agentflow
