// A saga's remote calls: outside of any transaction, their intent already committed.
#pragma once

#include "saga/instance.h"
#include "saga/runner_hooks.h"

namespace skald::saga {

// What is in hand is a remote call, or a remote undo.
bool awaits_answer(const Instance& saga);

// Makes the call in hand, or those of a parallel step side by side. What succeeded is
// in `saga`, not committed yet; the trouble of the first that did not. `asked_before`:
// an earlier call of it may have happened.
std::optional<Trouble> call(Env env, Instance& saga, bool asked_before, const SideBySide& side_by_side);

}  // namespace skald::saga
