// Queries: questions of people to the agent of a work.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentflow/ask_record.h"
#include "agentflow/flow.h"

namespace agentflow {

inline constexpr std::int64_t kQueriesMax = 100;  // of a work

// The query whose own agent the run "WORK.qK.ATTEMPT" is; none: it is no such run.
std::optional<std::string> query_of_run(std::string_view run);

// Begins the work on a query: it goes to the agent that runs, or gets one of its own.
void begin_query(const Flow& flow, skald::Transaction& tx, const Query& query);
// Those of a work that wait for an agent to read them.
std::vector<Query> sent_queries(skald::Transaction& tx, const std::string& work_id);

// The answer; where the work wants a report and has none, it is that, too. A query that has one keeps it.
void respond(skald::Transaction& tx, const std::string& query_id, const std::string& answer);
// Its own agent has ended: its output is the answer.
void end_query(const Flow& flow, skald::Transaction& tx, const std::string& run, const skald::RunEnd& end);

// The runs of a work's queries, also those that have ended.
void note_query_runs(skald::Transaction& tx, const std::string& work_id, std::vector<std::string>& runs);

// The body of the work's report, and who listens hears of it. False where the work wants none.
bool keep_report(skald::Transaction& tx, const std::string& work_id, const std::string& body);

}  // namespace agentflow
