#include "isolation/checker/analyses.h"
#include "isolation/checker/lines.h"

namespace skald::checker {

std::vector<Finding> check(std::span<const Operation> operations, const Scope& scope) {
  if (operations.size() >= kUnknown)
    throw Invalid("HISTORY_TOO_LONG", "a history of more than four billion operations; check it in windows");
  for (const Operation& operation : operations) validate(operation);
  History history = index_history(operations);
  Findings findings(history, scope.findings_max);
  check_effects(history, scope, findings);
  check_locks(history, findings);
  check_accesses(history, findings);
  check_cycles(history, findings);
  return findings.take();
}

}  // namespace skald::checker
