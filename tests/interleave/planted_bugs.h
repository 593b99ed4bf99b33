// The planted bugs that show only where real sessions meet on PostgreSQL: each
// breaks one rule of env/seam.h and must be caught.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "env/seam.h"
#include "interleave/explorer.h"

namespace skald::test {

struct PlantedBug {
  seam::Rule rule;
  std::string rule_name;
  std::string bug;
  std::string scenario;  // that finds it; "fault proxy" for what a lost network shows
};
std::vector<PlantedBug> planted_bugs();

// The first schedule that shows the bug, nullopt where `schedules_max` do not.
struct Caught {
  std::string by;
  int schedules = 0;
  std::string what;
};
std::optional<Caught> catch_bug(Stage& stage, const PlantedBug& bug, int schedules_max);

}  // namespace skald::test
