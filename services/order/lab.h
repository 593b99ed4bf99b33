// The lab: each anomaly between two sagas, made to happen on demand, and what each
// countermeasure makes of it. Two sagas A and B take their steps in a fixed order, each
// in a transaction of its own on a row of the service's database, so that a run always
// ends the same way. Each countermeasure is the library's own; with semantic-lock the two
// are sagas of the engine (lab_sagas.h). What they read and wrote is a history, and the
// checker is asked what it sees in it.
//
// | anomaly             | prevented by (the first is the default)                              |
// | dirty-read          | semantic-lock, distributed-lock, pessimistic-view                    |
// | lost-update         | commutative-update, semantic-lock, distributed-lock, optimistic-lock, reread-value, version-file |
// | non-repeatable-read | reread-value, optimistic-lock, semantic-lock, distributed-lock, version-file |
//
// The others are run as well, and the answer says that the anomaly occurred. So does it where a remedy is broken: each
// story is judged by what the sagas saw and left, not by which remedy was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/json.h"

namespace order {

struct Shop;

struct LabRequest {
  std::string anomaly;
  std::optional<std::string> countermeasure;  // none, default, or a name
};
BOOST_DESCRIBE_STRUCT(LabRequest, (), (anomaly, countermeasure))

struct LabLine {
  std::string saga, step;
  std::optional<std::int64_t> saw, wrote;
  std::string note;
};
BOOST_DESCRIBE_STRUCT(LabLine, (), (saga, step, saw, wrote, note))

struct LabReport {
  std::string anomaly, countermeasure;
  bool occurred = false;
  std::string explanation;
  std::vector<LabLine> timeline;
  std::vector<std::string> findings;  // of the checker, in the history of this run
};
BOOST_DESCRIBE_STRUCT(LabReport, (), (anomaly, countermeasure, occurred, explanation, timeline, findings))

// Invalid (BAD_ANOMALY, BAD_COUNTERMEASURE) names what there is. Corrupt (LOCK_NOT_GRANTED,
// LAB_SAGA_STUCK) where the engine does not keep its word.
LabReport run_lab(const Shop& shop, const LabRequest& request);

}  // namespace order
