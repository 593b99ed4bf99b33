// What the command line asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

struct Options {
  std::string name;                   // outbox, store, saga, booking, agentflow or before
  std::vector<std::string> sections;  // empty: all of them
  double seconds = 6;                 // of each measured run
  int rounds = 2;                     // repetitions, interleaved between contestants
  // Finished rows in the history section, sleeping sagas in that of the sleepers.
  std::optional<std::int64_t> rows;
  std::int64_t backlog = 100'000;     // events that are drained
  bool peers = false;                 // those of the saga benchmark, which take long
  std::string program;                // of the version before
  std::string against;                // the built tree of another version, for booking
  bool write_results = false;
  std::string postgres;               // URL of the server
  std::string command;                // as it was called

  bool wants(const std::string& section) const;
};

// Prints what is wrong and exits with 2 where the command line makes no sense.
Options parse_options(int argc, char** argv);

}  // namespace bench
