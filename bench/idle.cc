#include "contestant.h"
#include "sections.h"

namespace bench {

void measure_idle(Server& server, const Options&, Report& report) {
  // Sessions hand their counts in after up to ten seconds of silence.
  constexpr double kCountsSettle = 11, kSeconds = 15;
  Match match(server, skald());
  const auto consumer = match.consumer();
  consumer->tell("go");
  sleep_for_seconds(kCountsSettle);
  const auto transactions = [&] {
    return std::stod(server.sql().value("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '" +
                                        match.database() + "'"));
  };
  const double before = transactions(), cpu_before = cpu_of_process(consumer->pid());
  sleep_for_seconds(kSeconds);
  const double queries = (transactions() - before) / kSeconds;
  const double cpu = (cpu_of_process(consumer->pid()) - cpu_before) / kSeconds * 100;
  consumer->tell("stop");
  consumer->expect("done");
  report.table("An idle engine on PostgreSQL", {"transactions/s", "CPU of the process in % of one core"},
               {{number(queries, 2), number(cpu, 2)}});
  // The server counts in steps of a second, so one beat may fall on either side.
  report.check("idle: transactions per second", {Target::Kind::at_most, 1 + 1 / kSeconds}, queries, "/s");
  report.check("idle: CPU", {Target::Kind::at_most, 1}, cpu, "%");
}

}  // namespace bench
