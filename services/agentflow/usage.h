// What the runs of agents have used: a row for each, written as it goes and at its end. A restart forgets nothing, and a
// task that is run again adds to what it has used before.
#pragma once

#include "agentflow/flow.h"
#include "agentflow/task_end.h"
#include "agentflow/views.h"

namespace agentflow {

struct RunUsage {
  std::string run, workflow_id, work_id;
  std::int64_t task = 0;  // its number
  std::optional<std::int64_t> micros = {};  // millionths of cost
  std::int64_t milliseconds = 0;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(RunUsage, (), (run, workflow_id, work_id, task, micros, milliseconds, version))

RunUsage usage_row(const Work& work, const RunName& run, std::optional<double> cost, std::int64_t milliseconds);
// Of the run as it stands: cost as it was last told, time that only grows.
void note_usage(skald::Transaction& tx, const RunUsage& usage);

Usage usage_of(skald::Transaction& tx, const std::string& workflow_id);
Usage usage_of_task(skald::Transaction& tx, const std::string& work_id, int n);
EffectiveLimits limits_of(const Options& options, const Workflow& workflow);

// Why no more may be done for that workflow: a sentence that begins with LIMIT_REACHED. None: it may.
std::optional<std::string> out_of_bounds(const Options& options, skald::Transaction& tx, const Workflow& workflow);

// Says so once where a limit is near.
void warn_near_limit(const Options& options, skald::Transaction& tx, const std::string& workflow_id);

// Fills in what has been used.
WorkView with_usage(skald::Transaction& tx, WorkView view);

}  // namespace agentflow

template <> struct skald::Table<agentflow::RunUsage> {
  static constexpr std::string_view name = "flow_usage", key = "run";
};
