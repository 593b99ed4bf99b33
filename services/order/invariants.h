// What must hold of orders, stock and payments at any time, computed from the tables
// and the provider's books as they stand. What sagas under way have in hand is a term
// of its own, so that a check never fails because it looked in between.
//
// A product is compared with what its version file says from its last checkpoint on
// (stock.h): the cost does not grow with its history.
#pragma once

#include "order/payments.h"
#include "skald/checklist.h"

namespace order {

skald::Invariants check_invariants(skald::Database& db, Payments& payments);

// Moves the checkpoints of all products that agree with their version files up to the
// last line. The others keep theirs, so that the check goes on to find them, and finds them
// mended.
void advance_checkpoints(skald::Database& db);

}  // namespace order
