// What must hold of donations at any time, computed from the tables as they stand.
#pragma once

#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/http.h"

namespace donation {

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

// On one snapshot: in a reading transaction.
Invariants check_invariants(skald::Engine& engine, skald::Transaction& tx);

void add_invariants(skald::Engine& engine, skald::Router& router);

}  // namespace donation
