// What skald doctor finds, a line each.
#pragma once

#include <string>
#include <vector>

#include "skald/json.h"

namespace skald::cli {

enum class Health { ok, warn, fail };
BOOST_DESCRIBE_ENUM(Health, ok, warn, fail)

struct Finding {
  Health health{};
  std::string check, detail;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (health, check, detail))

using Findings = std::vector<Finding>;

}  // namespace skald::cli
