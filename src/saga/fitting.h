// Whether a program can go on with the sagas that are in flight; to be asked before it runs any.
#pragma once

#include <vector>

#include "saga/registry.h"
#include "store/tables/saga.h"

namespace skald::saga {

// In a writing transaction; programs that start at once go through it one after the other.
// Throws Invalid (SAGA_VERSION) with the ids of sagas in flight
//   of a version that is not added, though others of their type are;
//   of a definition whose shape (shape.h) is not the one that they began with.
// The shapes of what is added are kept for the next program. Where a database has none yet,
// its sagas are taken to have begun with these.
//
// Returns the live sagas of types that nothing here defines: another service's, or forgotten.
std::vector<tables::saga::InFlight> fit_in_flight(Transaction& tx, const Registry& registry);

}  // namespace skald::saga
