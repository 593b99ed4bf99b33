// Whether a system keeps up: what waits in it, sampled over a run.
#pragma once

#include <span>

namespace bench {

struct Backlog {
  double early = 0, late = 0, most = 0;  // means of the first and the last third, and the maximum
  // What came on top between those thirds; of a system that keeps up, not more than a second brings.
  double growth() const { return late - early; }
};

// Samples at equal distances, at least three; of fewer everything is NaN, which keeps no promise.
Backlog backlog_of(std::span<const double> samples);

}  // namespace bench
