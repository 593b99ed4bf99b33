// Questions and queries as clients send and see them.
#pragma once

#include <optional>
#include <string>

#include "agentflow/ask_record.h"
#include "skald/error.h"
#include "skald/schema.h"

namespace agentflow {

inline constexpr std::size_t kAskTextMax = 16 << 10;  // bytes of an answer or a query by a person

struct QuestionView {
  std::string id, work_id, workflow_id;
  std::int64_t n = 0;  // of the task
  QuestionStatus status{};
  std::string text;
  skald::Time asked_at{};
  std::optional<std::string> answer, reason;
  std::optional<skald::Time> answered_at;
};
BOOST_DESCRIBE_STRUCT(QuestionView, (),
                      (id, work_id, workflow_id, n, status, text, asked_at, answer, reason, answered_at))

struct NewAnswer {
  std::string answer;
};
BOOST_DESCRIBE_STRUCT(NewAnswer, (), (answer))

struct QueryView {
  std::string id, work_id;
  QueryStatus status{};
  std::string text;
  skald::Time asked_at{};
  std::optional<std::string> answer, error;
  std::optional<skald::Time> answered_at;
};
BOOST_DESCRIBE_STRUCT(QueryView, (), (id, work_id, status, text, asked_at, answer, error, answered_at))

struct NewQuery {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(NewQuery, (), (text))

inline void check_ask_text(const std::string& member, const std::string& text) {
  if (text.empty() || text.size() > kAskTextMax)
    throw skald::Invalid("BAD_TEXT_LENGTH", member + " must have 1 to 16384 bytes");
}

}  // namespace agentflow

template <> struct skald::Limits<agentflow::NewAnswer> {
  static constexpr skald::MemberLimit of[] = {{"answer", 1, agentflow::kAskTextMax}};
};
template <> struct skald::Limits<agentflow::NewQuery> {
  static constexpr skald::MemberLimit of[] = {{"text", 1, agentflow::kAskTextMax}};
};
