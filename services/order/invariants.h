// What must hold of orders, stock and payments at any time, computed from the tables
// and the provider's books as they stand. What sagas under way have in hand is a term
// of its own, so that a check never fails because it looked in between.
#pragma once

#include <string>
#include <vector>

#include "order/payments.h"
#include "skald/json.h"

namespace order {

struct Check {
  std::string name;
  bool ok = true;
  std::string detail;
};
BOOST_DESCRIBE_STRUCT(Check, (), (name, ok, detail))

struct Invariants {
  bool ok = true;
  std::vector<Check> checks;
};
BOOST_DESCRIBE_STRUCT(Invariants, (), (ok, checks))

Invariants check_invariants(skald::Database& db, Payments& payments);

}  // namespace order
