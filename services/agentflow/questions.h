// Questions of agents to people: asked, answered, withdrawn.
#pragma once

#include <optional>
#include <string>

#include "agentflow/ask_record.h"
#include "agentflow/flow.h"

namespace agentflow {

// A question of the run; one of that request that is there stays as it is. What becomes of its agent is the preset's to
// say, or `mode` says it.
Question ask_person(const Flow& flow, skald::Transaction& tx, const Work& work, const Task& task, std::int64_t request,
                    const std::string& text, OnQuestion mode);

// What the agent gets. Refused (QUESTION_WITHDRAWN) says why nobody waits any more; Refused (QUESTION_ANSWERED) where it
// has another answer. The same answer again changes nothing.
Question answer_question(const Flow& flow, skald::Transaction& tx, const std::string& id, const std::string& answer);

void withdraw_questions(skald::Transaction& tx, const std::string& work_id, const std::string& why);
// Those of an agent that has ended: for which it was waiting, and where its task no longer runs, those for which it left.
void withdraw_questions_of_run(skald::Transaction& tx, const std::string& run, bool task_runs);

// The question for which the run was ended or has ended itself, OPEN or ANSWERED.
std::optional<Question> question_that_ended(skald::Transaction& tx, const std::string& run);
// Where the end of the run's output matches its preset's pattern, that is a question.
void note_question_in_output(const Flow& flow, skald::Transaction& tx, const Work& work, int n, const std::string& run);

// Whether the task is not to begin before somebody has answered.
bool waits_for_answer(skald::Transaction& tx, const std::string& work_id, int n);
// The runs of a task that ended by a question: they were no tries that failed.
int runs_that_asked(skald::Transaction& tx, const std::string& work_id, int n);

// Those of a task that have an answer, in their order; the last 20.
std::vector<Question> answered_questions(skald::Transaction& tx, const std::string& work_id, int n);
// The prompt of a task with what was asked and answered before.
std::string with_answers(const std::string& prompt, const std::vector<Question>& answered, bool is_script);

}  // namespace agentflow
