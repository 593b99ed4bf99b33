#include "agentflow/usage.h"

#include <cmath>

#include "agentflow/events.h"

namespace agentflow {
namespace {

using skald::Transaction;

double in_units(std::int64_t micros) { return static_cast<double>(micros) / 1e6; }

Usage total_of(const std::vector<RunUsage>& rows) {
  std::optional<std::int64_t> micros;
  Usage out;
  for (const RunUsage& row : rows) {
    if (row.micros) micros = micros.value_or(0) + *row.micros;
    out.milliseconds += row.milliseconds;
  }
  if (micros) out.cost = in_units(*micros);
  return out;
}

}  // namespace

RunUsage usage_row(const Work& work, const RunName& run, std::optional<double> cost, std::int64_t milliseconds) {
  RunUsage out{.run = to_text(run),
               .workflow_id = work.workflow_id,
               .work_id = work.id,
               .task = run.n,
               .milliseconds = milliseconds};
  if (cost) out.micros = std::llround(*cost * 1e6);
  return out;
}

// Who deletes the workflow deletes its works first: it waits for this, or this finds no work.
void note_usage(Transaction& tx, const RunUsage& usage) {
  if (!tx.find_locked<Work>(usage.work_id)) return;
  auto row = tx.find<RunUsage>(usage.run);
  if (!row) {
    tx.insert(usage);
    return;
  }
  if (usage.micros) row->micros = usage.micros;
  row->milliseconds = std::max(row->milliseconds, usage.milliseconds);
  tx.save(*row);
}

Usage usage_of(Transaction& tx, const std::string& workflow_id) {
  return total_of(tx.select<RunUsage>("WHERE workflow_id = $1", workflow_id));
}

Usage usage_of_task(Transaction& tx, const std::string& work_id, int n) {
  return total_of(tx.select<RunUsage>("WHERE work_id = $1 AND task = $2", work_id, n));
}

EffectiveLimits limits_of(const Options& options, const Workflow& workflow) {
  const auto own = workflow.limits ? skald::from_json<WorkflowLimits>(*workflow.limits) : WorkflowLimits{};
  const auto standard = std::chrono::duration_cast<std::chrono::milliseconds>(options.workflow_time_max).count();
  return {.cost_max = own.cost_max.value_or(options.cost_max),
          .milliseconds_max = own.seconds_max ? *own.seconds_max * 1'000 : standard,
          .warn_at_percent = own.warn_at_percent.value_or(kWarnAtPercent)};
}

std::optional<std::string> out_of_bounds(const Options& options, Transaction& tx, const Workflow& workflow) {
  const auto why = reached(limits_of(options, workflow), usage_of(tx, workflow.id));
  if (!why) return std::nullopt;
  return "LIMIT_REACHED: the workflow is at its limit: " + *why + "; resume it with higher limits";
}

void warn_near_limit(const Options& options, Transaction& tx, const std::string& workflow_id) {
  const auto workflow = tx.find<Workflow>(workflow_id);
  if (!workflow || workflow->warning) return;
  const auto why = near(limits_of(options, *workflow), usage_of(tx, workflow_id));
  if (!why) return;
  bool news = false;
  const Workflow now = skald::change<Workflow>(tx, workflow_id, [&](Workflow& row) {
    news = !row.warning;
    if (news) row.warning = *why;
  });
  if (news) say(tx, kWorkflowNearLimit, now);
}

WorkView with_usage(Transaction& tx, WorkView view) {
  const auto rows = tx.select<RunUsage>("WHERE work_id = $1", view.id);
  view.cost = total_of(rows).cost;
  for (Task& task : view.tasks) {
    std::vector<RunUsage> own;
    std::ranges::copy_if(rows, std::back_inserter(own), [&](const RunUsage& row) { return row.task == task.n; });
    task.cost = total_of(own).cost;
  }
  return view;
}

}  // namespace agentflow
