// The analyser: finds, from what sagas declare, where they could corrupt each other.
//
//   const auto report = analyser::analyse(engine.sagas().definitions());
//   std::cout << analyser::report_text(report);
//   return report.worst();                    // in CI: 1 where something is not covered
//
// Looks at every two sagas (also two of one kind) and every resource that both touch by
// reads() and writes(); any key of a resource may be the same for both.
//
// | anomaly             | when it is possible                                       | what covers it |
// | dirty_read          | A reads what B wrote and can still undo                   | semantic lock; version file or commutative as the read's guard |
// | lost_update         | A writes what it saw earlier, B writes in between         | semantic lock; commutative, version file, idempotency key; reread and optimistic, where B raises the version; row lock, where A reads and writes in one local step |
// | non_repeatable_read | A reads again what it saw in an earlier step, B writes in between | semantic lock; reread, optimistic, commutative, version file as the second read's guard |
// | dirty_undo          | A's undo comes over what B wrote after A                  | semantic lock; commutative, where B does not write blindly; version file, idempotency key |
// | lock_order          | semantic locks against the engine's order: no deadlock, but the saga is undone and starts again | the engine |
// |                     | row locks of one transaction in opposite orders           | nothing |
// | step_order          | another order of the steps would expose less              | it is advice |
//
// A semantic lock counts where both sagas hold the resource from the step in question or
// an earlier one that is never left out, one of them exclusively, in a mode that does not
// depend on the state. What has an idempotency key is a record of its own saga and meets
// no other. One transaction does not make it safe to read and then write: it runs under
// read committed.
//
// Steps that usually share a transaction (local ones in a row) are taken as visible one
// by one, because a group may split; what can happen only then is a warning instead of
// an error. A saga that is another's child is judged as part of it.
//
// Pure and thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "skald/json.h"
#include "skald/saga_definition.h"

namespace skald::analyser {

enum class Anomaly { dirty_read, lost_update, non_repeatable_read, dirty_undo, lock_order, step_order };
BOOST_DESCRIBE_ENUM(Anomaly, dirty_read, lost_update, non_repeatable_read, dirty_undo, lock_order, step_order)

enum class Severity {
  note,  // covered, or advice
  warning,  // may happen where a group of local steps splits, or costs a restart
  error
};
BOOST_DESCRIBE_ENUM(Severity, note, warning, error)

struct Place {
  std::string saga, step;
  bool operator==(const Place&) const = default;
};
BOOST_DESCRIBE_STRUCT(Place, (), (saga, step))

struct Finding {
  Severity severity = Severity::note;
  Anomaly anomaly = Anomaly::dirty_read;
  std::string resource;
  Place first;  // who suffers it, or has to change
  Place second;  // by whom
  std::optional<std::string> covered_by;  // "semantic lock"
  std::string explanation;  // what can happen
  std::optional<std::string> advice;  // what to change; none where it is covered
};
BOOST_DESCRIBE_STRUCT(Finding, (), (severity, anomaly, resource, first, second, covered_by, explanation, advice))

struct Report {
  std::vector<std::string> sagas;  // what was looked at
  std::int64_t uncovered = 0;  // warnings and errors that nothing covers
  std::vector<Finding> findings;  // the worst first

  // For a program's exit code: 0 clean, 1 something is not covered.
  int worst() const { return uncovered > 0 ? 1 : 0; }
};
BOOST_DESCRIBE_STRUCT(Report, (), (sagas, uncovered, findings))

// At most one finding for each anomaly, two sagas in their roles, and resource: the worst.
Report analyse(const std::vector<std::reference_wrapper<const saga::Definition>>& definitions);

// For people, a paragraph each; what is covered, and advice, is only counted, unless `all`.
std::string report_text(const Report& report, bool all = false);
// For programs: {"sagas":[…],"uncovered":1,"findings":[…]}.
std::string report_json(const Report& report);

}  // namespace skald::analyser
