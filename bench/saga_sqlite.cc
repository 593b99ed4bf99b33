#include "saga_run.h"
#include "sections.h"

namespace bench {

void measure_saga_sqlite(const Options& options, Report& report) {
  constexpr int kStepsPerCommit = 64;
  const ScratchFolder folder;
  struct Entrant {
    std::string name, peer;
    std::vector<double> rates = {}, cpu_us = {};
  };
  std::vector<Entrant> entrants = {
      {"skald, 64 in flight", "skald:fused:1"},
      {"skald, 64 in flight, a commit per step", "skald:committed:1"},
      {"by hand, 64 steps in each commit", "hand:batched:" + std::to_string(kStepsPerCommit)}};
  for (int round = 0; round < options.rounds; ++round) {
    for (Entrant& entrant : entrants) {
      const std::string path = folder.path() + "/" + std::to_string(&entrant - entrants.data()) + std::to_string(round);
      SagaProcess process({entrant.name, entrant.peer, ""}, path + ".db", path + ".times", kInFlight, options.seconds);
      const SagaRun run = process.run(std::nullopt);
      entrant.rates.push_back(run.rate);
      entrant.cpu_us.push_back(run.cpu_us);
      progress("SQLite, " + entrant.name + ": " + number(run.rate) + "/s");
    }
  }
  const double ours = median(entrants[0].rates);
  std::vector<std::vector<std::string>> rows;
  for (const Entrant& entrant : entrants)
    rows.push_back({entrant.name, number(median(entrant.rates)), number(ours / median(entrant.rates), 2) + "x",
                    number(median(entrant.cpu_us), 1)});
  report.setting(
      "order saga on SQLite",
      "synchronous=FULL, WAL; the same saga; by hand: one thread, prepared statements, the step's business "
      "row, saga row and outbox row (one per step; the loops on PostgreSQL write one per saga, as skald does)");
  report.table("Order sagas on SQLite: per second", {"who", "sagas/s", "skald is", "CPU us/saga"}, rows);
  report.check("order saga on SQLite, against a hand-written loop with 64 steps in each commit",
               {Target::Kind::at_least, 0.5}, ours / median(entrants.back().rates));
}

}  // namespace bench
