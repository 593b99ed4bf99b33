// What a workflow may cost, and how long its agents may run in all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skald/json.h"

namespace agentflow {

inline constexpr std::int64_t kWarnAtPercent = 80;

// What is not said is as the server's settings say; 0 lifts that limit.
struct WorkflowLimits {
  std::optional<double> cost_max = {};
  std::optional<std::int64_t> seconds_max = {};
  std::optional<std::int64_t> warn_at_percent = {};
};
BOOST_DESCRIBE_STRUCT(WorkflowLimits, (), (cost_max, seconds_max, warn_at_percent))

// Invalid (BAD_LIMITS) says what is wanted.
void check(const WorkflowLimits& limits);

// `newer` where it says something, else `older`.
WorkflowLimits merged(const WorkflowLimits& older, const WorkflowLimits& newer);

// What has been used.
struct Usage {
  std::optional<double> cost = {};  // none: no agent has told any
  std::int64_t milliseconds = 0;    // that agents ran
};

// Those that count: 0 is none.
struct EffectiveLimits {
  double cost_max = 0;
  std::int64_t milliseconds_max = 0;
  std::int64_t warn_at_percent = kWarnAtPercent;
};

// A sentence where a limit is reached, or near: the share of it that the warning names.
std::optional<std::string> reached(const EffectiveLimits& limits, const Usage& usage);
std::optional<std::string> near(const EffectiveLimits& limits, const Usage& usage);

}  // namespace agentflow
