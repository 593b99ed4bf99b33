// What is done to a process by the test that started it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skald/json.h"

namespace skald::crash {

enum class Moment {
  never,
  before,       // the body has run, nothing is committed; or the effect has not begun: SIGKILL
  during,       // of an effect: SIGKILL, that long after it has begun
  after,        // it is committed, or the effect is there, and nobody knows yet: SIGKILL
  answer_lost,  // it is committed, its caller is told CommitUnknown and lives on
  stop          // the body has run, the transaction is open: SIGSTOP; woken, it goes on with the commit
};
BOOST_DESCRIBE_ENUM(Moment, never, before, during, after, answer_lost, stop)

// The n-th commit or effect of that name, counted from when the process was told its doom.
struct Commit {
  std::string write;
  int nth = 1;
  bool operator==(const Commit&) const = default;
};
BOOST_DESCRIBE_STRUCT(Commit, (), (write, nth))

struct Doom {
  Moment moment = Moment::never;
  Commit at = {};
  std::int64_t delay_us = 0;  // of `during`
};
BOOST_DESCRIBE_STRUCT(Doom, (), (moment, at, delay_us))

// The one argument of skald_order_process, as JSON.
struct ProcessOptions {
  std::string database;  // a file of SQLite, or postgresql://…
  std::string provider;  // the URL of the sandbox
  std::int64_t lease_ms = 3000, beat_ms = 1000, call_timeout_ms = 2000;
  Doom doom = {};
  std::string crash_notes;  // the name of files that a process shares with the one whose place it takes
};
BOOST_DESCRIBE_STRUCT(ProcessOptions, (), (database, provider, lease_ms, beat_ms, call_timeout_ms, doom, crash_notes))

// Its answer to GET /test/commits: all since it was told its doom.
struct Commits {
  std::vector<Commit> items;
};
BOOST_DESCRIBE_STRUCT(Commits, (), (items))

}  // namespace skald::crash
