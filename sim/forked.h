// Work spread over child processes, which tell the parent by lines.
#pragma once

#include <functional>
#include <string>

namespace skald::sim {

using Say = std::function<void(const std::string& line)>;

// Runs work(0), work(1), … in `jobs` children; `hear` gets their lines, in the
// parent, as they come, and returns false to end all of it. False where a child
// did not come to its end by itself.
bool run_forked(int jobs, const std::function<void(int worker, const Say& say)>& work,
                const std::function<bool(const std::string& line)>& hear);

}  // namespace skald::sim
