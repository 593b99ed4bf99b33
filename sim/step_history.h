// What local steps have noted of themselves, against what their sagas say:
//   what was done last is undone first, and nothing is undone that was not done
//   a saga that ended undone has undone everything
//   the engine's log and the saga's state tell the same story
#pragma once

#include <map>
#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::sim {

class StepHistory {
 public:
  // Both throw BrokenInvariant.
  void observe(Transaction& tx);
  void check_end(Transaction& tx) const;

 private:
  struct Story {
    std::vector<std::string> lines;    // "reserve", "-reserve"
    std::vector<std::string> to_undo;  // what stands
  };

  std::int64_t read_upto_ = 0;
  std::map<std::string, Story> stories_;  // by saga
};

}  // namespace skald::sim
