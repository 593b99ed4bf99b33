// The stories of workflows that are told to dying processes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "crash/agentflow_telling.h"

namespace skald::crash {

struct FlowStory {
  std::string name;
  std::function<void(FlowTelling&)> prepare;  // nobody dies here
  std::function<void(FlowTelling&)> tell;     // here they do; it ends with nothing under way
  std::function<void(FlowTelling&)> check;    // what must hold in the end, beside what always must
};

const std::vector<FlowStory>& flow_stories();

}  // namespace skald::crash
