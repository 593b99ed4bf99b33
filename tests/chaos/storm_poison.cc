// Every kind of death of every kind of code on both databases in turn, each with innocent work in the same
// hands: see crash/poison_run.h.
#include <cstdio>

#include "chaos/storm.h"
#include "crash/poison_run.h"

namespace skald::chaos {
namespace {

using crash::Death;
using crash::Poisoned;

// The three numbers have no common divisor: thirty runs meet every combination.
crash::PoisonSetup setup_of(unsigned run) {
  return {run % 2 == 0 ? Dialect::sqlite : Dialect::postgres, static_cast<Poisoned>(run % 3),
          static_cast<Death>(run % 5)};
}

bool is_asked_for(const crash::PoisonSetup& setup, const std::string& db) {
  return db == "all" || (db == "sqlite") == (setup.dialect == Dialect::sqlite);
}

}  // namespace

int run_poison(const Options& options) {
  int failed = 0, done = 0;
  for (unsigned run = options.seed; done < options.poison; ++run) {
    const crash::PoisonSetup setup = setup_of(run);
    if (!is_asked_for(setup, options.db)) continue;
    const auto report = crash::run_poisoned(setup);
    std::printf("%-3d %-34s %d deaths, %5.1f s  %s\n", ++done, setup.name().c_str(), report.deaths, report.seconds,
                report.faults.empty() ? "ok" : "FAILED");
    for (const std::string& fault : report.faults) std::printf("FAULT: %s\n", fault.c_str());
    std::fflush(stdout);
    failed += report.faults.empty() ? 0 : 1;
  }
  std::printf("%d runs, %d failed%s\n", done, failed, failed == 0 ? ": only what kills was parked" : "");
  return failed == 0 ? 0 : 1;
}

}  // namespace skald::chaos
