// What must hold of slots and reservations at any time, computed from the tables as they stand.
#pragma once

#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/http.h"
#include "skald/json.h"

namespace course {

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

Invariants check_invariants(skald::Transaction& tx);

void add_invariants(skald::Database& db, skald::Router& router);

}  // namespace course
