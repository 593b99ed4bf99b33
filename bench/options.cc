#include "options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace bench {
namespace {

const std::map<std::string, std::vector<std::string>> kSections = {
    {"outbox", {"e2e", "drain", "latency", "history", "idle"}},
    {"store", {"sqlite", "postgres"}},
    {"saga", {"throughput", "latency", "workers", "sqlite", "hot", "release", "sleepers"}},
    {"booking", {"embedded", "distributed", "polling"}},
    {"agentflow", {"starts", "overhead", "flood"}},
    {"before", {"outbox", "saga", "sqlite", "instructions"}},
};

[[noreturn]] void usage(const std::string& problem) {
  std::fprintf(
      stderr,
      "%s\n"
      "usage: skald_bench outbox [e2e] [drain] [latency] [history] [idle] [OPTION]...\n"
      "       skald_bench store [sqlite] [postgres] [OPTION]...\n"
      "       skald_bench saga [throughput] [latency] [workers] [sqlite] [hot] [release] [sleepers] [OPTION]...\n"
      "       skald_bench booking [embedded] [distributed] [polling] [OPTION]...\n"
      "       skald_bench booking --against TREE [embedded] [distributed] [OPTION]...\n"
      "       skald_bench agentflow [starts] [overhead] [flood] [OPTION]...\n"
      "       skald_bench before --program PATH [outbox] [saga] [sqlite] [instructions] [OPTION]...\n"
      "  --program PATH    the skald_bench of the version before\n"
      "  --against TREE    the sources of another version, built in its build/release\n"
      "  --seconds S       of each measured run (6; before, --against: 20; booking: 30)\n"
      "  --rounds N        interleaved repetitions, of which the median counts (2)\n"
      "  --rows N          finished rows of the history section (10000000), sleepers (1000000)\n"
      "  --backlog N       events of the drain section (100000)\n"
      "  --peers           beside the sagas of DBOS Transact and Restate\n"
      "  --write-results   renew the part of RESULTS.md and its chart\n"
      "SKALD_TEST_PG is the URL of a PostgreSQL server of one's own.\n",
      problem.c_str());
  std::exit(2);
}

}  // namespace

bool Options::wants(const std::string& section) const {
  return sections.empty() || std::ranges::find(sections, section) != sections.end();
}

Options parse_options(int argc, char** argv) {
  Options out;
  if (argc < 2 || !kSections.contains(argv[1])) usage("outbox, store, saga, booking, agentflow or before?");
  out.name = argv[1];
  // One run of each, long enough for a backlog to show.
  if (out.name == "booking") {
    out.seconds = 30;
    out.rounds = 1;
  }
  out.command = "./dev bench";
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) != "--write-results") out.command += std::string(" ") + argv[i];
  // Shorter ones do not hold up.
  const bool compares =
      out.name == "before" || std::find(argv, argv + argc, std::string_view("--against")) != argv + argc;
  if (compares || out.name == "agentflow") {
    out.seconds = 20;
    out.rounds = 3;
  }
  const auto& known = kSections.at(out.name);
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (++i == argc) usage(word + " wants a value");
      const double number = std::atof(argv[i]);
      if (!(number > 0)) usage(word + " wants a number above 0");
      return number;
    };
    if (word == "--seconds") out.seconds = value();
    else if (word == "--rounds") out.rounds = static_cast<int>(value());
    else if (word == "--rows") out.rows = static_cast<std::int64_t>(value());
    else if (word == "--backlog") out.backlog = static_cast<std::int64_t>(value());
    else if (word == "--peers") out.peers = true;
    else if (word == "--program" && i + 1 < argc) out.program = argv[++i];
    else if (word == "--against" && i + 1 < argc) out.against = argv[++i];
    else if (word == "--write-results") out.write_results = true;
    else if (std::ranges::find(known, word) != known.end()) out.sections.push_back(word);
    else usage("unknown: " + word);
  }
  if ((out.name == "before") != !out.program.empty()) usage("`before` wants --program, and nothing else does");
  if (!out.against.empty() && (out.name != "booking" || out.write_results))
    usage("--against is for booking, and no result to keep");
  const char* url = std::getenv("SKALD_TEST_PG");
  if (url == nullptr) usage("SKALD_TEST_PG is not set; ./dev bench sets it");
  out.postgres = url;
  return out;
}

}  // namespace bench
