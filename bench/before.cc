// This version beside another one: its skald_bench plays the same roles, in turns with ours.
#include <functional>

#include "saga_run.h"
#include "sections.h"
#include "turns.h"

namespace bench {
namespace {

struct Work {
  std::string section, name;
  std::function<double(const std::string& program)> per_second;
};

Contestant played_by(const std::string& program, Contestant contestant) {
  contestant.program = program;
  return contestant;
}

std::vector<Work> works(Server& server, const Options& options, const ScratchFolder& folder) {
  const auto on_postgres = [&](const Contestant& contestant, int in_flight = kInFlight) {
    return [&, contestant, in_flight](const std::string& program) {
      SagaSeries series{.contestant = played_by(program, contestant), .in_flight = in_flight};
      series.run(server, options.seconds);
      return series.middle(&SagaRun::rate);
    };
  };
  const auto on_sqlite = [&](const std::string& peer) {
    return [&, peer, runs = 0](const std::string& program) mutable {
      const std::string path = folder.path() + "/" + peer + std::to_string(runs++);
      SagaProcess process(played_by(program, {peer, peer, ""}), path + ".db", path + ".times", kInFlight,
                          options.seconds);
      return process.run(std::nullopt).rate;
    };
  };
  return {
      {"outbox", "events end to end",
       [&](const std::string& program) {
         return handled_per_second(server, played_by(program, skald()), options.seconds);
       }},
      {"outbox", "a backlog of " + std::to_string(options.backlog) + " events",
       [&](const std::string& program) {
         return drained_per_second(server, played_by(program, skald()), options.backlog);
       }},
      {"saga", "order sagas", on_postgres(skald_fused())},
      {"saga", "order sagas, a commit per step", on_postgres(skald_committed())},
      {"saga", "order sagas, one at a time", on_postgres(skald_fused(), 1)},
      {"sqlite", "order sagas on SQLite", on_sqlite("skald:fused:1")},
      {"sqlite", "order sagas on SQLite, a commit per step", on_sqlite("skald:committed:1")},
  };
}

}  // namespace

void measure_before(Server& server, const Options& options, Report& report) {
  constexpr Target kNotSlower = {Target::Kind::at_least, 0.97};
  const ScratchFolder folder;
  std::vector<std::vector<std::string>> rows;
  for (Work& work : works(server, options, folder)) {
    if (!options.wants(work.section)) continue;
    Turns rates;
    in_turns(options.rounds, [&](Turn turn) {
      const double rate = work.per_second(turn == Turn::now ? "/proc/self/exe" : options.program);
      rates.add(turn, rate);
      progress(work.name + (turn == Turn::now ? ", now: " : ", before: ") + number(rate) + "/s");
    });
    const double before = rates.middle(Turn::before), now = rates.middle(Turn::now);
    rows.push_back({work.name, number(before), number(now), number(now / before, 2) + "x"});
    report.check(work.name + ", against the version before", kNotSlower, now / before);
  }
  if (rows.empty()) return;
  report.table("This version beside the one before: per second", {"what", "before", "now", "ratio"}, rows);
}

}  // namespace bench
