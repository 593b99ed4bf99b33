// What must hold of donations at any time, computed from the tables as they stand.
#pragma once

#include "skald/checklist.h"
#include "skald/engine.h"
#include "skald/http.h"

namespace donation {

// On one snapshot: in a reading transaction.
skald::Invariants check_invariants(skald::Engine& engine, skald::Transaction& tx);

void add_invariants(skald::Engine& engine, skald::Router& router);

}  // namespace donation
