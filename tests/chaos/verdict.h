// What must hold after any chaos, computed from what the receiver got.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "support/http_receiver.h"

namespace skald::chaos {

struct Verdict {
  std::size_t announced = 0;      // distinct events
  std::int64_t repeats = 0;       // sends beyond the first
  std::vector<std::string> faults;
};

Verdict judge(const std::vector<test::HttpReceiver::Request>& requests, const std::set<std::string>& acknowledged);

}  // namespace skald::chaos
