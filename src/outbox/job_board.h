// Periodic jobs, each run once per period across all workers of a database: a row
// says when it is due, and whoever moves that on runs it. A worker that dies in a
// job leaves it to the next period, so a job must be able to go on where it was.
//
// run_once() is called by one thread. The database is asked only when this process
// believes that something is due.
#pragma once

#include <string>
#include <vector>

#include "skald/outbox.h"

namespace skald::outbox {

class JobBoard {
 public:
  JobBoard(Env env, Database& db) : env_(env), db_(db) {}

  void add(Job job);           // before the first run_once()
  Duration run_once();         // how long nothing is due

 private:
  struct Posted {
    Job job;
    Instant look_at{};         // when it may be due, by our own clock
  };
  void look(Posted& posted);
  void set(Posted& timer);

  Env env_;
  Database& db_;
  std::vector<Posted> jobs_;
};

}  // namespace skald::outbox
