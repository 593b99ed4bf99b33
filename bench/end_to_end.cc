#include <algorithm>

#include "contestant.h"
#include "sections.h"

namespace bench {
namespace {

constexpr double kDeliveryWarmUp = 1.5;

// One run, as shares of one core where it is CPU.
struct Run {
  double handled = 0, produced = 0;
  double producer_cpu = 0, consumer_cpu = 0, server_cpu = 0, other_cpu = 0;
  double cpu_us = 0;  // of all three, per event: hardly depends on what else runs
};

Run run_once(Server& server, const Contestant& contestant, double seconds) {
  Match match(server, contestant);
  const auto consumer = match.consumer();
  const auto producer = match.producer(0, kDeliveryWarmUp + seconds + 0.5);
  consumer->tell("go");
  sleep_for_seconds(0.5);
  producer->tell("go");
  sleep_for_seconds(kDeliveryWarmUp);

  const CpuWatch cpu({producer->pid(), consumer->pid()}, server.postmaster());
  const std::int64_t from = now_ns();
  sleep_for_seconds(seconds);
  const std::int64_t to = now_ns();
  const CpuWatch::Shares shares = cpu.shares();

  producer->expect("done");
  consumer->tell("stop");
  consumer->expect("done");
  Run run{per_second(match.handled(), from, to), per_second(match.produced(), from, to), 0, 0, 0, 0, 0};
  run.producer_cpu = shares.clients[0];
  run.consumer_cpu = shares.clients[1];
  run.server_cpu = shares.server;
  run.other_cpu = shares.others;
  run.cpu_us = shares.total() * 1e4 / run.handled;
  return run;
}

}  // namespace

double handled_per_second(Server& server, const Contestant& contestant, double seconds) {
  return run_once(server, contestant, seconds).handled;
}

Rates measure_end_to_end(Server& server, const Options& options, Report& report) {
  const std::vector<Contestant> contestants = {skald(), pg_boss_polling(), graphile_worker(), naive_outbox(),
                                               naive_outbox_empty()};
  std::map<std::string, std::vector<Run>> runs;
  for (int round = 0; round < options.rounds; ++round) {
    for (const Contestant& contestant : contestants) {
      runs[contestant.name].push_back(run_once(server, contestant, options.seconds));
      progress("end to end, " + contestant.name + ": " + number(runs[contestant.name].back().handled) + "/s");
    }
  }

  const auto middle = [&](const std::string& name, double Run::* field) {
    std::vector<double> values;
    for (const Run& run : runs[name]) values.push_back(run.*field);
    return median(values);
  };
  Rates rates;
  std::vector<std::vector<std::string>> rows;
  std::vector<Report::Bar> bars;
  const double ours = middle("skald", &Run::handled);
  for (const Contestant& c : contestants) {
    const double handled = rates[c.name] = middle(c.name, &Run::handled);
    rows.push_back({c.name, number(handled), number(middle(c.name, &Run::produced)), number(ours / handled, 2) + "x",
                    number(middle(c.name, &Run::producer_cpu)), number(middle(c.name, &Run::consumer_cpu)),
                    number(middle(c.name, &Run::server_cpu)), number(middle(c.name, &Run::other_cpu)),
                    number(middle(c.name, &Run::cpu_us)), c.settings});
    bars.push_back({c.name, handled});
  }
  report.setting(
      "end to end",
      "8 producers on 8 connections in a process of their own, each transaction updates one of 100,000 rows and "
      "emits one event of 204 bytes over 10,000 keys; a handler inserts one row, with an inbox row where it dedupes");
  report.table("End to end: events per second, CPU in % of one core and in microseconds per event",
               {"contestant", "handled/s", "produced/s", "skald is", "producer", "consumer", "PostgreSQL", "others",
                "us/event", "settings"},
               rows);
  report.chart("End to end", "events handled per second", std::move(bars));
  const auto at_least = [](double value) { return Target{Target::Kind::at_least, value}; };
  report.check("end to end, against the best peer", at_least(3),
               ours / std::max(rates["pg-boss"], rates["graphile-worker"]));
  report.check("end to end, against a naive outbox", at_least(1.2), ours / rates["naive outbox"]);
  report.check("end to end, against a naive outbox with an empty handler", at_least(1.2),
               ours / rates["naive outbox, empty handler"]);
  return rates;
}

}  // namespace bench
