// Agentflow as those outside of it see it: a service that may be away, and the disk that outlives it.
#pragma once

#include <functional>
#include <optional>

#include "sim/agentflow/flow_unit.h"

namespace skald::sim {

class FlowSite {
 public:
  virtual ~FlowSite() = default;
  // Nothing: there was no answer, whatever has happened.
  virtual std::optional<Response> call(Request request) = 0;
  // Runs inside of the service, where it is there; false: it was not, or died in it.
  virtual bool work(const std::function<void(FlowUnit&)>& body) = 0;
};

}  // namespace skald::sim
