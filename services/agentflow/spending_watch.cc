#include "agentflow/presets.h"
#include "agentflow/spending.h"
#include "agentflow/usage.h"

namespace agentflow {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kReadMax = 1 << 20;     // bytes of output at one look
constexpr skald::Duration kTellEvery = 1s;    // a cost that changes
constexpr skald::Duration kTimeEvery = 30s;  // of a run whose workflow has a limit of time: others may use it up, too

milliseconds since(skald::Time begin, skald::Time end) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(end - begin));
}

}  // namespace

SpendingRule spending_rule(const Options& options, skald::Transaction& tx, const RunName& run) {
  const auto work = tx.find<Work>(run.work_id);
  const auto workflow = work ? tx.find<Workflow>(work->workflow_id) : std::nullopt;
  if (!workflow) return {};
  SpendingRule out;
  for (const Task& task : in_column<Tasks>(work->tasks))
    if (task.n == run.n)
      if (const Preset* preset = find_preset(options, task.agent.value_or(workflow->agent)))
        out.cost = {preset->cost_pattern, preset->cost_json};
  const EffectiveLimits limits = limits_of(options, *workflow);
  if (limits.milliseconds_max == 0) return out;
  std::int64_t others = usage_of(tx, workflow->id).milliseconds;
  if (const auto own = tx.find<RunUsage>(to_text(run))) others -= own->milliseconds;
  out.due = {milliseconds(limits.milliseconds_max * limits.warn_at_percent / 100 - others),
             milliseconds(limits.milliseconds_max - others)};
  return out;
}

// The wall clock is asked once, when this process first sees the run: a jump of it later changes nothing.
milliseconds SpendingWatch::Watched::age(skald::Instant now) const {
  return age_when_seen + std::chrono::duration_cast<milliseconds>(now - seen_at);
}

bool SpendingWatch::Watched::is_due(milliseconds from, milliseconds to) const {
  return std::ranges::any_of(rule.due, [&](milliseconds at) { return from < at && at <= to; }) ||
         (!rule.due.empty() && to - from >= kTimeEvery);
}

SpendingWatch::Watched& SpendingWatch::watched(const RunName& name, const skald::RunView& run) {
  const auto known = watched_.find(run.id);
  if (known != watched_.end()) return known->second;
  Watched out{.rule = rule_of_(name), .reader = {}, .told_cost = {}};
  if (!out.rule.cost.empty()) out.reader.emplace(out.rule.cost);
  out.seen_at = clock_.steady();
  if (run.started_at) out.age_when_seen = since(*run.started_at, clock_.now());
  out.told_at = out.seen_at - out.age_when_seen;
  return watched_.emplace(run.id, std::move(out)).first->second;
}

bool SpendingWatch::read_output(Watched& run, const skald::RunView& view) {
  if (!run.reader || view.output_bytes <= run.offset) return true;
  const std::string bytes = agents_.output(view.id, run.offset, kReadMax);
  run.reader->read(bytes);
  run.offset += static_cast<std::int64_t>(bytes.size());
  return bytes.empty() || run.offset >= view.output_bytes;
}

std::optional<Spent> SpendingWatch::look(const RunName& name, const skald::RunView& view) {
  if (view.pid == 0) return std::nullopt;
  Watched& run = watched(name, view);
  read_output(run, view);
  const skald::Instant now = clock_.steady();
  const auto cost = run.reader ? run.reader->cost() : std::nullopt;
  const bool costs_more = cost != run.told_cost && (!run.told_cost || now - run.told_at >= kTellEvery);
  if (!costs_more && !run.is_due(run.age(run.told_at), run.age(now))) return std::nullopt;
  if (!run.rule.due.empty()) run.rule.due = rule_of_(name).due;  // others may have used time since, limits have changed
  run.told_cost = cost;
  run.told_at = now;
  return Spent{cost, run.age(now).count()};
}

std::optional<Spent> SpendingWatch::finish(const RunName& name, const skald::RunView& view) {
  Watched& run = watched(name, view);
  if (!read_output(run, view)) return std::nullopt;
  if (run.reader) run.reader->finish();
  const auto time = view.started_at ? since(*view.started_at, view.end->at) : milliseconds(0);
  return Spent{run.reader ? run.reader->cost() : std::nullopt, time.count()};
}

}  // namespace agentflow
