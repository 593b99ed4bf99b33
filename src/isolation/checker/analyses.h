// The parts of a check, one file each. All go over the history once, in order.
#pragma once

#include "isolation/checker/findings.h"
#include "isolation/checker/history.h"

namespace skald::checker {

// Orphan effects, double and empty compensations, and actions behind their undo.
void check_effects(const History& history, const Scope& scope, Findings& findings);

void check_locks(const History& history, Findings& findings);

// Dirty reads, lost updates, non-repeatable reads, dirty undos, versions out of order.
// Marks the reads that these explain as outdated.
void check_accesses(History& history, Findings& findings);

// What is left: circles of sagas. After check_accesses.
void check_cycles(const History& history, Findings& findings);

}  // namespace skald::checker
