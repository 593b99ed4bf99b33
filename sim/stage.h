// What everything in one run shares: time, chance, the plan, the trace, and the
// disk that outlives every process: a real file, under which the hardware may fail.
#pragma once

#include <string>
#include <utility>

#include "sim/markers.h"
#include "sim/plan.h"
#include "sim/trace.h"
#include "sim_kit/clock.h"
#include "sim_kit/random.h"
#include "store/sqlite/database.h"
#include "support/faulty_disk.h"

namespace skald::sim {

// The simulator's own look at a disk, past every fault. Not by read(): in memory it switches
// the one connection to reading and back, which makes SQLite compile every statement anew.
inline void look_at(sqlite::SqliteDatabase& disk, const Database::Body& body) {
  const auto at_commit = std::exchange(disk.before_physical_commit, nullptr);
  disk.write("look", body);
  disk.before_physical_commit = at_commit;
}

// A folder of a run's own, in memory where the system has such a place.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::uint64_t seed);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

struct Stage {
  Stage(std::uint64_t seed, Workload workload, std::ostream* out)
      : dice(seed),
        engine_random(dice.next()),
        plan(draw_plan(dice, workload)),
        trace(out),
        database_clock(timeline),
        folder(seed),
        disk({database_clock, engine_random, silent_observer()}, disk_options("disk.db")) {}

  SqliteOptions disk_options(std::string_view name) const {
    return {.path = folder.file(name), .full_sync = false, .readers = 0, .slow_body = 24h};
  }

  Instant now() const { return timeline.steady(); }

  void look(const Database::Body& body) { look_at(disk, body); }

  Timeline timeline;
  SimRandom dice;
  SimRandom engine_random;   // what the engines draw from
  Plan plan;
  Trace trace;
  Markers markers;
  SimClock database_clock;
  ScratchFolder folder;
  test::FaultyDisk hardware{"unix-excl"};  // one process has the file: no lock of it costs a system call
  sqlite::SqliteDatabase disk;
};

}  // namespace skald::sim
