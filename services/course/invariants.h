// What must hold of slots and reservations at any time, computed from the tables as they stand.
#pragma once

#include "skald/checklist.h"
#include "skald/http.h"

namespace course {

skald::Invariants check_invariants(skald::Transaction& tx);

void add_invariants(skald::Database& db, skald::Router& router);

}  // namespace course
