#include "agentflow/limits.h"

#include <cmath>

#include "skald/error.h"

namespace agentflow {
namespace {

constexpr double kCostMaxMost = 1e9;
constexpr std::int64_t kSecondsMost = 366 * 86'400;

std::string number_text(double value) { return skald::to_json(std::round(value * 1e6) / 1e6); }

std::string cost_text(const EffectiveLimits& limits, const Usage& usage) {
  return "it has cost " + number_text(*usage.cost) + " of the " + number_text(limits.cost_max) + " that it may";
}

std::string time_text(const EffectiveLimits& limits, const Usage& usage) {
  return "its agents have run " + number_text(static_cast<double>(usage.milliseconds / 100) / 10) + " of the " +
         number_text(static_cast<double>(limits.milliseconds_max) / 1e3) + " seconds that they may";
}

// The first limit of which that share is used.
std::optional<std::string> used(const EffectiveLimits& limits, const Usage& usage, double share) {
  if (limits.cost_max > 0 && usage.cost && *usage.cost >= limits.cost_max * share) return cost_text(limits, usage);
  if (limits.milliseconds_max > 0 &&
      static_cast<double>(usage.milliseconds) >= static_cast<double>(limits.milliseconds_max) * share)
    return time_text(limits, usage);
  return std::nullopt;
}

}  // namespace

void check(const WorkflowLimits& limits) {
  if (limits.cost_max && !(*limits.cost_max >= 0 && *limits.cost_max <= kCostMaxMost))
    throw skald::Invalid("BAD_LIMITS", "costMax must be a number from 0 (none) to 1000000000");
  if (limits.seconds_max && (*limits.seconds_max < 0 || *limits.seconds_max > kSecondsMost))
    throw skald::Invalid("BAD_LIMITS", "secondsMax must be from 0 (none) to " + std::to_string(kSecondsMost));
  if (limits.warn_at_percent && (*limits.warn_at_percent < 1 || *limits.warn_at_percent > 100))
    throw skald::Invalid("BAD_LIMITS", "warnAtPercent must be from 1 to 100");
}

WorkflowLimits merged(const WorkflowLimits& older, const WorkflowLimits& newer) {
  return {.cost_max = newer.cost_max ? newer.cost_max : older.cost_max,
          .seconds_max = newer.seconds_max ? newer.seconds_max : older.seconds_max,
          .warn_at_percent = newer.warn_at_percent ? newer.warn_at_percent : older.warn_at_percent};
}

std::optional<std::string> reached(const EffectiveLimits& limits, const Usage& usage) { return used(limits, usage, 1); }

std::optional<std::string> near(const EffectiveLimits& limits, const Usage& usage) {
  return used(limits, usage, static_cast<double>(limits.warn_at_percent) / 100);
}

}  // namespace agentflow
