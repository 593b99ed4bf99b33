// What must hold after a storm, computed from what servers, provider and receiver show.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "chaos/storm_site.h"

namespace skald::chaos {

struct StormVerdict {
  std::size_t parked = 0;             // sagas that need help
  std::size_t dead_letters = 0;
  std::vector<std::string> stuck;     // both of them, with id and reason
  std::map<std::string, int> failed;  // orders, by the code of their reason
  std::vector<std::string> faults;
};

// Once everything has settled, or its time is over. `orders` and `donations` were acknowledged.
StormVerdict judge_storm(StormSite& site, const std::set<std::string>& orders, const std::set<std::string>& donations);

}  // namespace skald::chaos
