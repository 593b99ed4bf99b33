// From what a run shall be to a supervisor that has it.
#pragma once

#include <string>
#include <vector>

#include "process/run_folder.h"
#include "skald/process.h"

namespace skald::process {

// The run's folder and its lock: made whole, or found there. Empty: somebody else holds the lock. Unavailable
// (RUNS_FOLDER).
Descriptor ask_for_run(const Clock& clock, Random& random, const std::string& runs_folder, const RunFolder& run);

// Returns once the supervisor has taken the run; the lock is its own then. Unavailable (RUN_NOT_STARTED, NO_PROCESS).
void launch_supervisor(const Clock& clock, const RunFolder& run, const RunSpec& spec,
                       const std::vector<std::string>& supervisor, const Descriptor& lock);

}  // namespace skald::process
