// The signals that ask a program to end, as something to wait for.
#pragma once

#include "skald/time.h"

namespace skald::runtime {

// One per program, made on its first thread before there are others: they inherit
// that SIGTERM and SIGINT are blocked. Also ignores SIGPIPE, since every write
// here looks at its result, and SIGHUP: a server outlives its terminal, and settings are
// read at its start alone.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // True once the program was asked to end. From then on a second signal ends it
  // at once, for the impatient.
  bool wait(Duration longest);
};

// Ends the process after that time, however stuck it is. A crash at any point is
// safe, a stop that never ends is not.
void end_process_after(std::chrono::seconds time);

}  // namespace skald::runtime
