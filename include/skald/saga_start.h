// Starting sagas, and what comes back.
#pragma once

#include <string>

#include "skald/saga_view.h"

namespace skald {

// What happens where a live saga of the same type and business key exists.
enum class OnDuplicate {
  join,     // nothing is started; the answer is the one under way
  refuse,   // Conflict (SAGA_RUNS)
  allow     // both run
};

struct StartOptions {
  std::string key = {};                      // the business key; empty: none
  OnDuplicate on_duplicate = OnDuplicate::join;
  std::string id = {};                       // empty: a new one
  std::string traceparent = {};              // whose trace its steps belong to; empty: none
};

struct Started {
  std::string id;
  SagaStatus status = SagaStatus::RUNNING;   // as of the last commit that was waited for
  bool joined = false;
  std::optional<SagaError> error = {};
};

}  // namespace skald
