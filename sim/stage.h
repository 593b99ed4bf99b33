// What everything in one run shares: time, chance, the plan, the trace, and the
// disk that outlives every process.
#pragma once

#include <utility>

#include "sim/markers.h"
#include "sim/plan.h"
#include "sim/trace.h"
#include "sim_kit/clock.h"
#include "sim_kit/random.h"
#include "store/sqlite/database.h"

namespace skald::sim {

// The simulator's own look at a disk, past every fault. Not by read(): in memory it switches
// the one connection to reading and back, which makes SQLite compile every statement anew.
inline void look_at(sqlite::SqliteDatabase& disk, const Database::Body& body) {
  const auto at_commit = std::exchange(disk.before_physical_commit, nullptr);
  disk.write("look", body);
  disk.before_physical_commit = at_commit;
}

struct Stage {
  Stage(std::uint64_t seed, Workload workload, std::ostream* out)
      : dice(seed),
        engine_random(dice.next()),
        plan(draw_plan(dice, workload)),
        trace(out),
        database_clock(timeline),
        disk({database_clock, engine_random, silent_observer()},
             {.path = ":memory:", .full_sync = false, .slow_body = 24h}) {}

  Instant now() const { return timeline.steady(); }

  void look(const Database::Body& body) { look_at(disk, body); }

  Timeline timeline;
  SimRandom dice;
  SimRandom engine_random;   // what the engines draw from
  Plan plan;
  Trace trace;
  Markers markers;
  SimClock database_clock;
  sqlite::SqliteDatabase disk;
};

}  // namespace skald::sim
