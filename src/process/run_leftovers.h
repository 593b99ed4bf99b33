// A run whose supervisor has died: what it has left behind is ended, and its end is written.
#pragma once

#include "process/run_folder.h"
#include "skald/env.h"

namespace skald::process {

// The caller holds the run's lock. Unavailable (RUN_NOT_SETTLED): a process cannot be ended, or the disk is full; try
// again later.
RunEnded end_interrupted(const Clock& clock, const RunFolder& run);

}  // namespace skald::process
