// What a runner is given by the process around it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "env/crash_note.h"

namespace skald::saga {

// Runs all of them, side by side where it can, and returns when they have ended.
using SideBySide = std::function<void(std::vector<std::function<void()>>)>;

struct RunnerHooks {
  std::function<std::string()> worker;         // this process's worker id; empty: it may own nothing now
  std::function<void()> wake_poll;             // poll() has something to do sooner than it said
  std::function<void()> wake_run;              // one caller of run_one() has something to do, or sooner
  std::function<void()> announce;              // other processes should poll
  SideBySide side_by_side;
  bool record = false;                         // keep a history for the checker
  const CrashNotes* notes = nullptr;           // where what kills this process is noted; null: nowhere
};

}  // namespace skald::saga
