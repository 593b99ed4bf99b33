// A saga as people and programs see it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/json.h"

namespace skald {

enum class SagaStatus { RUNNING, WAITING, COMPENSATING, COMPLETED, COMPENSATED, NEEDS_HELP };
BOOST_DESCRIBE_ENUM(SagaStatus, RUNNING, WAITING, COMPENSATING, COMPLETED, COMPENSATED, NEEDS_HELP)

constexpr bool has_ended(SagaStatus status) {
  return status == SagaStatus::COMPLETED || status == SagaStatus::COMPENSATED;
}

struct SagaError {
  std::string code, message;
};
BOOST_DESCRIBE_STRUCT(SagaError, (), (code, message))

struct StepView {
  std::string name, kind, status;         // DONE, SKIPPED, REFUSED, FAILED, UNDONE, WAITING, CALLED
  int attempt = 1;
  Time started_at{}, finished_at{};
  std::optional<std::string> error;
};
BOOST_DESCRIBE_STRUCT(StepView, (), (name, kind, status, attempt, started_at, finished_at, error))

struct SagaView {
  std::string id, type;
  std::optional<std::string> key, parent;
  SagaStatus status = SagaStatus::RUNNING;
  std::string step;                       // the one in hand
  RawJson state;
  Time started_at{};
  std::optional<Time> finished_at, wakes_at;
  std::optional<SagaError> error;
  std::vector<StepView> steps;
};
BOOST_DESCRIBE_STRUCT(SagaView, (),
                      (id, type, key, parent, status, step, state, started_at, finished_at, wakes_at, error, steps))

}  // namespace skald
