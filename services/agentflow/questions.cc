#include "agentflow/questions.h"

#include "agentflow/events.h"
#include "agentflow/presets.h"
#include "agentflow/question_pattern.h"
#include "agentflow/task_end.h"
#include "skald/text.h"

namespace agentflow {
namespace {

using skald::Transaction;

constexpr std::size_t kWholePromptMax = 120'000;  // bytes: a word of a command line may have 128 KiB

std::string question_id(const std::string& run, std::int64_t request) { return run + ".q" + std::to_string(request); }

void say_settled(Transaction& tx, const Question& question) {
  say(tx, kQuestionSettled, question.work_id, question.id,
      AskEvent{question.workflow_id, question.work_id, question.id});
}

void withdraw(Transaction& tx, const std::string& id, const std::string& why) {
  bool withdrawn = false;
  const Question now = skald::change<Question>(tx, id, [&](Question& row) {
    withdrawn = row.status == QuestionStatus::OPEN;
    if (!withdrawn) return;
    row.status = QuestionStatus::WITHDRAWN;
    row.reason = why;
  });
  if (withdrawn) say_settled(tx, now);
}

// "# " before each line: a script takes it for a comment.
std::string as_comment(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) out += c == '\n' ? std::string("\n# ") : std::string(1, c == '\r' ? ' ' : c);
  return out;
}

// An agent that is there reads it in its mailbox; one that has ended begins anew with it.
void pass_on(const Flow& flow, Transaction& tx, const Question& question) {
  if (question.mode == OnQuestion::wait) {
    flow.engine.sagas().start_in(tx, flow.sagas.letter,
                                 Letter{question.workflow_id, question.run, answer_file(question.request),
                                        skald::to_json(MailAnswer{*question.answer})},
                                 {.key = question.id});
    return;
  }
  const auto work = tx.find<Work>(question.work_id);
  if (work && work->agent_status == AgentStatus::IDLE) begin_task(flow, tx, question.work_id);
}

}  // namespace

Question ask_person(const Flow& flow, Transaction& tx, const Work& work, const Task& task, std::int64_t request,
                    const std::string& text, OnQuestion mode) {
  const std::string run = task.run.value_or("");
  if (const auto known = tx.find<Question>(question_id(run, request))) return *known;
  const Question question{.id = question_id(run, request),
                          .workflow_id = work.workflow_id,
                          .work_id = work.id,
                          .run = run,
                          .n = task.n,
                          .request = request,
                          .mode = mode,
                          .text = skald::cut_text(text, kSaidMax),
                          .created_at = tx.now()};
  tx.insert(question);
  say(tx, kQuestionAsked, work.id, question.id, AskEvent{work.workflow_id, work.id, question.id});
  if (mode == OnQuestion::end && request > 0)
    flow.engine.sagas().start_in(tx, flow.sagas.stop,
                                 StopAgent{run, "it has asked a person; its task begins anew with the answer"},
                                 {.key = run});
  return question;
}

Question answer_question(const Flow& flow, Transaction& tx, const std::string& id, const std::string& answer) {
  bool answered = false;
  const Question now = skald::change<Question>(tx, id, [&](Question& row) {
    answered = row.status == QuestionStatus::OPEN;
    if (row.status == QuestionStatus::WITHDRAWN)
      throw skald::Refused("QUESTION_WITHDRAWN", "nobody waits for this answer any more: " + row.reason.value_or(""));
    if (row.status == QuestionStatus::ANSWERED && row.answer != answer)
      throw skald::Refused("QUESTION_ANSWERED", "the question has been answered otherwise; read it again");
    if (!answered) return;
    row.status = QuestionStatus::ANSWERED;
    row.answer = answer;
    row.answered_at = tx.now();
  });
  if (!answered) return now;
  say_settled(tx, now);
  pass_on(flow, tx, now);
  return now;
}

void withdraw_questions(Transaction& tx, const std::string& work_id, const std::string& why) {
  for (const Question& question :
       tx.select<Question>("WHERE work_id = $1 AND status = 'OPEN' ORDER BY created_at", work_id))
    withdraw(tx, question.id, why);
}

void withdraw_questions_of_run(Transaction& tx, const std::string& run, bool task_runs) {
  for (const Question& question : tx.select<Question>("WHERE run = $1 AND status = 'OPEN' ORDER BY created_at", run))
    if (question.mode == OnQuestion::wait || !task_runs) withdraw(tx, question.id, "its agent has ended");
}

std::optional<Question> question_that_ended(Transaction& tx, const std::string& run) {
  // The open one first: it is what the task waits for.
  const auto found = tx.select<Question>(
      "WHERE run = $1 AND mode = 'end' AND status <> 'WITHDRAWN' ORDER BY status DESC, request LIMIT 1", run);
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

void note_question_in_output(const Flow& flow, Transaction& tx, const Work& work, int n, const std::string& run) {
  const Tasks tasks = in_column<Tasks>(work.tasks);
  const auto task = std::ranges::find(tasks, n, &Task::n);
  const auto workflow = tx.find<Workflow>(work.workflow_id);
  if (task == tasks.end() || !workflow) return;
  const Options& options = flow.outside->options;
  const std::string agent = task->agent.value_or(workflow->agent);
  if (!has_preset(options, agent) || preset_of(options, agent).question_pattern.empty()) return;
  const auto view = flow.outside->agents().look(run);
  const std::int64_t begin = std::max<std::int64_t>(0, (view ? view->output_bytes : 0) - kQuestionTailMax);
  const std::string tail = flow.outside->agents().output(run, begin, kQuestionTailMax);
  if (const auto text = question_in(preset_of(options, agent).question_pattern, tail))
    ask_person(flow, tx, work, *task, 0, *text, OnQuestion::end);
}

bool waits_for_answer(Transaction& tx, const std::string& work_id, int n) {
  return !tx.query("SELECT id FROM flow_question WHERE work_id = $1 AND n = $2 AND status = 'OPEN' LIMIT 1", work_id, n)
              .empty();
}

int runs_that_asked(Transaction& tx, const std::string& work_id, int n) {
  return static_cast<int>(
      tx.query("SELECT COUNT(DISTINCT run) FROM flow_question WHERE work_id = $1 AND n = $2 AND mode = 'end'", work_id,
               n)
          .get<std::int64_t>(0, 0));
}

std::vector<Question> answered_questions(Transaction& tx, const std::string& work_id, int n) {
  auto out = tx.select<Question>(
      "WHERE work_id = $1 AND n = $2 AND status = 'ANSWERED' ORDER BY created_at DESC, id DESC LIMIT 20", work_id, n);
  std::ranges::reverse(out);
  return out;
}

std::string with_answers(const std::string& prompt, const std::vector<Question>& answered, bool is_script) {
  if (answered.empty() || prompt.size() >= kWholePromptMax) return prompt;
  std::string told = "You have asked before, and a person has answered.";
  for (const Question& question : answered)
    told += "\nQuestion: " + question.text + "\nAnswer: " + question.answer.value_or("");
  return skald::cut_text(prompt + "\n\n" + (is_script ? as_comment(told) : told), kWholePromptMax);
}

}  // namespace agentflow
