#include "support/cleanup_process.h"

#include <stdexcept>

namespace skald::test {

// Whoever ends the test by a signal to all of its group must not end this process.
CleanupProcess::CleanupProcess(const std::string& commands)
    : pipe_(popen(("trap '' INT TERM HUP; cat >/dev/null; " + commands).c_str(), "we")) {
  if (pipe_ == nullptr) throw std::runtime_error("no process to tidy up");
}

CleanupProcess::~CleanupProcess() { pclose(pipe_); }

}  // namespace skald::test
