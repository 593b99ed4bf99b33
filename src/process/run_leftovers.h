// Runs without a supervisor come to their end here. The caller holds the run's lock.
#pragma once

#include "process/run_folder.h"
#include "skald/env.h"

namespace skald::process {

// The supervisor has died: what the run has left behind is ended. Unavailable (RUN_NOT_SETTLED): a process cannot be
// ended, or the disk is full; try again later.
RunEnded end_interrupted(const Clock& clock, const RunFolder& run);
// It was stopped before it was launched. Unavailable (RUN_NOT_SETTLED): the disk is full.
RunEnded end_unbegun(const Clock& clock, const RunFolder& run, const std::string& why);

}  // namespace skald::process
