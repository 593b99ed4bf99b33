// skald_sim: runs seeds in worker processes, replays one, or hunts planted bugs.
//
//   skald_sim --seeds 20000                        many runs
//   skald_sim --seeds 1 --first 42 --trace         every decision of one
//   skald_sim --workload sagas --seeds 3000        the same of sagas
//   skald_sim --workload unlocked --seeds 3000     of sagas without their locks: what the checker names
//   skald_sim --workload booking --seeds 3000      of the booking system: three services, a database each
//   skald_sim --workload post --seeds 3000         of two services whose disks are put back to copies
//   skald_sim --workload agentflow --seeds 500     of workflows of agents: simulated git, agents and disk
//   skald_sim --planted [--workload sagas]         breaks each rule in turn and tells what noticed it
//   skald_sim --seeds 1 --first 1 --break RULE --trace   how it was noticed
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <vector>

#include "sim/forked.h"
#include "sim/planted.h"
#include "sim/planted_table.h"
#include "sim/simulate.h"
#include "skald/env.h"

namespace skald::sim {
namespace {

constexpr std::uint64_t kMarkersWanted = 1000;   // seeds from which on every marker must be hit

struct Options {
  std::uint64_t seeds = 1000, first = 1;
  int jobs = 2;
  bool trace = false, planted = false;
  std::optional<Workload> workload;
  std::string break_rule;
};

std::optional<Workload> workload_of(std::string_view name) {
  if (name == "outbox") return Workload::outbox;
  if (name == "sagas") return Workload::sagas;
  if (name == "unlocked") return Workload::unlocked;
  if (name == "booking") return Workload::booking;
  if (name == "post") return Workload::post;
  if (name == "agentflow") return Workload::agentflow;
  return std::nullopt;
}

int usage() {
  std::cerr << "usage: skald_sim [--workload outbox|sagas|unlocked|booking|post|agentflow] [--seeds N] [--first SEED] "
               "[--jobs N] "
               "[--trace] [--break "
               "RULE] | --planted [--workload outbox|sagas|booking] [--jobs N]\n";
  return 2;
}

double seconds_since(const Clock& clock, Instant begun) {
  return std::chrono::duration<double>(clock.steady() - begun).count();
}

int run_one(const Options& options) {
  const Run run =
      simulate(options.first, options.workload.value_or(Workload::outbox), options.trace ? &std::cout : nullptr);
  std::cout << "seed " << run.seed << ": " << run.decisions << " decisions, hash " << std::hex << run.hash << std::dec
            << "\n";
  if (!run.broken) return 0;
  std::cout << "FAILED " << run.broken->invariant << ": " << run.broken->text << "\n";
  return 1;
}

bool print_markers(const Markers& markers, Workload workload, std::uint64_t seeds) {
  bool all = true;
  for (std::size_t i = 0; i < kMarkers; ++i) {
    const auto marker = static_cast<Marker>(i);
    if (!is_wanted(marker, workload)) continue;
    const bool missing = markers.of(marker) == 0 && seeds >= kMarkersWanted;
    all = all && !missing;
    std::cout << "  sometimes " << name_of(marker) << ": " << markers.of(marker) << (missing ? "  NEVER HIT" : "")
              << "\n";
  }
  return all;
}

int run_many(const Options& options) {
  const auto clock = system_clock();
  const Instant begun = clock->steady();
  const auto jobs = static_cast<std::uint64_t>(options.jobs);
  const Workload workload = options.workload.value_or(Workload::outbox);
  Markers markers;
  std::uint64_t done = 0, decisions = 0, failed = 0;
  const auto work = [&](int worker, const Say& say) {
    Markers mine;
    for (auto i = static_cast<std::uint64_t>(worker); i < options.seeds; i += jobs) {
      const Run run = simulate(options.first + i, workload);
      mine.add(run.markers);
      say("done " + std::to_string(run.decisions));
      if (run.broken)
        say("failed seed " + std::to_string(run.seed) + ": " + run.broken->invariant + ": " + run.broken->text);
    }
    for (std::size_t i = 0; i < kMarkers; ++i)
      say("marker " + std::to_string(i) + " " + std::to_string(mine.of(static_cast<Marker>(i))));
  };
  const bool whole = run_forked(options.jobs, work, [&](const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "marker") {
      std::size_t marker = 0;
      std::uint64_t count = 0;
      words >> marker >> count;
      markers.add(static_cast<Marker>(marker), count);
    } else if (kind == "done") {
      std::uint64_t count = 0;
      words >> count;
      decisions += count;
      if (++done % 1000 == 0)
        std::cout << done << " seeds, " << static_cast<double>(done) / seconds_since(*clock, begun) << " per second"
                  << std::endl;
    } else {
      ++failed;
      std::cout << line << std::endl;
    }
    return failed < 20;
  });
  const double took = seconds_since(*clock, begun);
  const bool all_hit = print_markers(markers, workload, done);
  std::cout << done << " seeds, " << decisions << " decisions in " << took << " s; " << failed << " failed\n";
  if (failed > 0) std::cout << "replay one with: skald_sim --seeds 1 --first SEED --trace\n";
  if (!whole) std::cout << "a worker process died\n";
  return whole && all_hit && failed == 0 ? 0 : 1;
}

int run_planted(const Options& options) {
  std::vector<PlantedBug> bugs(planted_bugs().begin(), planted_bugs().end());
  if (options.workload) std::erase_if(bugs, [&](const PlantedBug& bug) { return bug.workload != *options.workload; });
  std::vector<PlantedRow> rows;
  for (const PlantedBug& bug : bugs)
    rows.push_back({std::string(bug.name), std::string(bug.sentence), "", "a worker died in it"});
  const auto work = [&](int worker, const Say& say) {
    for (auto i = static_cast<std::size_t>(worker); i < bugs.size(); i += static_cast<std::size_t>(options.jobs)) {
      const auto caught = hunt(bugs[i], options.first, kHuntSeedsMax);
      const std::string number = std::to_string(i) + " ";
      if (caught) say(number + std::to_string(caught->seeds) + " " + caught->invariant + " " + caught->text);
      else say(number + std::to_string(kHuntSeedsMax));
    }
  };
  const bool whole = run_forked(options.jobs, work, [&](const std::string& line) {
    std::istringstream words(line);
    std::size_t index = 0;
    int seeds = 0;
    words >> index >> seeds >> rows[index].caught_by;
    rows[index].after = std::to_string(seeds) + (seeds == 1 ? " seed" : " seeds");
    std::string seen;
    std::getline(words, seen);
    std::cout << rows[index].rule << ": " << (seen.empty() ? "not caught" : rows[index].caught_by + seen) << std::endl;
    return true;
  });
  std::cout << "\n";
  print_planted(std::cout, rows);
  const auto caught = std::ranges::count_if(rows, [](const PlantedRow& row) { return !row.caught_by.empty(); });
  std::cout << caught << " of " << rows.size() << " planted bugs caught by the simulator\n";
  return whole && caught == std::ssize(rows) ? 0 : 1;
}

int run(Options options) {
  if (options.planted) return run_planted(options);
  std::optional<Broken> broken;
  for (const PlantedBug& bug : planted_bugs()) {
    if (bug.name != options.break_rule) continue;
    broken.emplace(bug.rule);
    options.workload = bug.workload;
  }
  if (!options.break_rule.empty() && !broken) return usage();
  return options.seeds == 1 ? run_one(options) : run_many(options);
}

}  // namespace
}  // namespace skald::sim

int main(int argc, char** argv) {
  skald::sim::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool last = i + 1 == argc;
    if (word == "--trace") options.trace = true;
    else if (word == "--planted") options.planted = true;
    else if (last) return skald::sim::usage();
    else if (word == "--seeds") options.seeds = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--first") options.first = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--jobs") options.jobs = std::max(1, std::atoi(argv[++i]));
    else if (word == "--workload") {
      options.workload = skald::sim::workload_of(argv[++i]);
      if (!options.workload) return skald::sim::usage();
    } else if (word == "--break") options.break_rule = argv[++i];
    else return skald::sim::usage();
  }
  return skald::sim::run(options);
}
