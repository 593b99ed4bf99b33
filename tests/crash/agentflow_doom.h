// The one argument of skald_agentflow_process, as JSON.
#pragma once

#include "crash/doom.h"

namespace skald::crash {

struct FlowProcessOptions {
  std::string database;    // a file of SQLite, or postgresql://…
  std::string folder;      // of spaces and runs
  std::string supervisor;  // the program that supervises an agent
  std::int64_t lease_ms = 1000, beat_ms = 150;
  std::string crash_notes;
  Doom doom = {};
};
BOOST_DESCRIBE_STRUCT(FlowProcessOptions, (), (database, folder, supervisor, lease_ms, beat_ms, crash_notes, doom))

}  // namespace skald::crash
