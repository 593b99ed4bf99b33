// Histories as lines of JSON.
#pragma once

#include "skald/checker.h"

namespace skald::checker {

// Throws Invalid (HISTORY_OPERATION) where an operation lacks what its kind needs.
void validate(const Operation& operation);

}  // namespace skald::checker
