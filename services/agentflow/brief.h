// What an agent is told of its workflow: the file that `read` of our MCP server answers with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentflow/flow.h"
#include "agentflow/mailbox.h"
#include "agentflow/views.h"

namespace agentflow {

inline constexpr const char* kBriefFile = "brief.json";

struct BriefPart {
  std::string id, name;
};
BOOST_DESCRIBE_STRUCT(BriefPart, (), (id, name))

struct BriefTask {
  int n = 0;
  std::string prompt;
};
BOOST_DESCRIBE_STRUCT(BriefTask, (), (n, prompt))

struct BriefAnswer {
  std::string question, answer;
};
BOOST_DESCRIBE_STRUCT(BriefAnswer, (), (question, answer))

struct Brief {
  BriefPart workflow, work;
  BriefTask task;
  bool wants_report = false;
  std::vector<WorkSummary> works;
  std::vector<BriefAnswer> answers;
  std::vector<MailQuery> queries;  // of people, which it may answer
};
BOOST_DESCRIBE_STRUCT(Brief, (), (workflow, work, task, wants_report, works, answers, queries))

// Makes the mailbox of the run, with its brief and the queries that wait. Again is as once.
void fill_mailbox(const Outside& outside, skald::Database& db, const RunTask& run);

}  // namespace agentflow
