// What is over and old enough goes, in short transactions that nobody waits for.
#pragma once

#include "skald/engine.h"

namespace skald::runtime {

// The engine's own jobs.
std::vector<Job> housekeeping(Database& db, const EngineOptions& options);

}  // namespace skald::runtime
