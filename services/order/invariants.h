// What must hold of orders, stock and payments at any time, computed from the tables
// and the provider's books as they stand. What sagas under way have in hand is a term
// of its own, so that a check never fails because it looked in between.
#pragma once

#include "order/payments.h"
#include "skald/checklist.h"

namespace order {

skald::Invariants check_invariants(skald::Database& db, Payments& payments);

}  // namespace order
