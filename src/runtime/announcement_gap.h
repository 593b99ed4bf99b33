// How long an engine waits between two notifications of its commits. Each is a transaction, wakes
// every worker, and lets others look at a page of its own: where many are asked for, fewer are sent.
// A lone one goes at once, whatever the gap.
#pragma once

#include <algorithm>

#include "skald/time.h"

namespace skald::runtime {

class AnnouncementGap {
 public:
  static constexpr Duration kMin = std::chrono::milliseconds(2);
  // At most, where more than kSome or kMany are asked for within a gap.
  static constexpr Duration kMaxOfSome = std::chrono::milliseconds(16), kMaxOfMany = std::chrono::milliseconds(64);
  static constexpr int kSome = 2, kMany = 16;

  // The next gap, after `asked` announcements were asked for in the last one.
  Duration next(int asked) {
    if (asked > kMany) gap_ = std::min(2 * gap_, kMaxOfMany);
    else if (asked > kSome) gap_ = gap_ > kMaxOfSome ? gap_ / 2 : std::min(2 * gap_, kMaxOfSome);
    else gap_ = kMin;
    return gap_;
  }

 private:
  Duration gap_ = kMin;
};

}  // namespace skald::runtime
