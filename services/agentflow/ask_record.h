// What is asked in a workflow, by agents (questions) and of them (queries), as it is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skald/aggregate.h"
#include "skald/json.h"
#include "skald/row.h"

namespace agentflow {

// What becomes of an agent that asks: it stays and waits, or it is ended and its task begins anew with the answer.
enum class OnQuestion { wait, end };
BOOST_DESCRIBE_ENUM(OnQuestion, wait, end)

enum class QuestionStatus { OPEN, ANSWERED, WITHDRAWN };
BOOST_DESCRIBE_ENUM(QuestionStatus, OPEN, ANSWERED, WITHDRAWN)

struct Question {
  std::string id;  // of the run, and of the request in its mailbox
  std::string workflow_id, work_id, run;
  std::int64_t n = 0;        // of the task
  std::int64_t request = 0;  // in the run's mailbox; 0: it stood in the output
  OnQuestion mode = OnQuestion::wait;
  QuestionStatus status = QuestionStatus::OPEN;
  std::string text;
  skald::Time created_at{};
  std::optional<std::string> answer = {}, reason = {};  // the reason of a withdrawal
  std::optional<skald::Time> answered_at = {};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Question, (),
                      (id, workflow_id, work_id, run, n, request, mode, status, text, created_at, answer, reason,
                       answered_at, version))

// SENT: an agent that runs is to answer it. RUNNING: it has an agent of its own.
enum class QueryStatus { SENT, RUNNING, RESPONDED, FAILED };
BOOST_DESCRIBE_ENUM(QueryStatus, SENT, RUNNING, RESPONDED, FAILED)

struct Query {
  std::string id;  // of the work, and its place among the work's
  std::string workflow_id, work_id;
  std::int64_t position = 0;
  QueryStatus status = QueryStatus::SENT;
  std::string text;
  skald::Time created_at{};
  std::optional<std::string> run = {}, answer = {}, error = {};
  std::optional<skald::Time> answered_at = {};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Query, (),
                      (id, workflow_id, work_id, position, status, text, created_at, run, answer, error, answered_at,
                       version))

// How far the requests of a run's mailbox have been heard: none has its effect twice, however late it comes again.
struct MailboxNote {
  std::string run, workflow_id;
  std::int64_t heard = 0;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(MailboxNote, (), (run, workflow_id, heard, version))

}  // namespace agentflow

template <> struct skald::Table<agentflow::Question> {
  static constexpr std::string_view name = "flow_question", key = "id", resource = "question";
};
template <> struct skald::Table<agentflow::Query> {
  static constexpr std::string_view name = "flow_query", key = "id", resource = "query";
};
template <> struct skald::Table<agentflow::MailboxNote> {
  static constexpr std::string_view name = "flow_mailbox", key = "run";
};
template <> struct skald::OnConflict<agentflow::Question> {
  static constexpr int retries = 3;
};
template <> struct skald::OnConflict<agentflow::Query> {
  static constexpr int retries = 3;
};
