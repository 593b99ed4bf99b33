// The order saga on PostgreSQL: as fast as it goes, one at a time, and by two workers.
#include <algorithm>
#include <limits>

#include "saga_run.h"
#include "sections.h"

namespace bench {
namespace {

constexpr Target at_least(double value) { return {Target::Kind::at_least, value}; }
constexpr Target at_most(double value) { return {Target::Kind::at_most, value}; }

void run_rounds(Server& server, const Options& options, std::vector<SagaSeries>& all) {
  for (int round = 0; round < options.rounds; ++round)
    for (SagaSeries& series : all) series.run(server, options.seconds);
}

std::map<std::string, double> middles(const std::vector<SagaSeries>& all, double SagaRun::* field) {
  std::map<std::string, double> out;
  for (const SagaSeries& series : all) out[series.contestant.name] = series.middle(field);
  return out;
}

}  // namespace

void measure_saga_throughput(Server& server, const Options& options, Report& report) {
  std::vector<SagaSeries> all;
  for (const Contestant& c : {skald_fused(), skald_committed(), hand_steps(), hand_fused(), hand_pipelined()})
    all.push_back({c});
  const std::vector<Contestant> peers = options.peers ? saga_peers(report) : std::vector<Contestant>{};
  for (const Contestant& peer : peers) all.push_back({peer});
  run_rounds(server, options, all);

  const auto rates = middles(all, &SagaRun::rate);
  const double ours = rates.at(skald_fused().name);
  std::vector<std::vector<std::string>> rows;
  std::vector<Report::Bar> bars;
  for (const SagaSeries& series : all) {
    const double rate = series.middle(&SagaRun::rate);
    const auto field = [&](double SagaRun::* which, int decimals = 0) {
      return number(series.middle(which), decimals);
    };
    rows.push_back({series.contestant.name, number(rate), number(ours / rate, 2) + "x", field(&SagaRun::p50_ms, 1),
                    field(&SagaRun::p99_ms, 1), field(&SagaRun::client_cpu), field(&SagaRun::server_cpu),
                    field(&SagaRun::other_cpu), field(&SagaRun::cpu_us), series.contestant.settings});
    bars.push_back({series.contestant.name, rate});
  }
  report.setting(
      "order saga",
      "an order row, a guarded update of one of 10,000 stock rows, a payment row, an event at its end; one in "
      "a hundred is declined at the third step and undone; 64 in flight; PostgreSQL and all others on the "
      "same cores");
  report.table("Order sagas on PostgreSQL: per second, milliseconds from start to end, CPU in % of one core",
               {"contestant", "sagas/s", "skald is", "p50", "p99", "its processes", "PostgreSQL", "others", "us/saga",
                "settings"},
               rows);
  report.chart("Order sagas on PostgreSQL, 64 in flight", "sagas per second", std::move(bars));
  const double by_steps = rates.at(hand_steps().name);
  report.check("order saga, against a hand-written transaction per step", at_least(1.5), ours / by_steps);
  report.check("order saga, against one hand-written transaction", at_least(0.7), ours / rates.at(hand_fused().name));
  report.check("order saga, against one hand-written transaction, pipelined", at_least(0.7),
               ours / rates.at(hand_pipelined().name));
  report.check("order saga with a commit per step, against the same by hand", at_least(0.7),
               rates.at(skald_committed().name) / by_steps);
  const std::map<std::string, double> targets = {{"DBOS Transact", 10}, {"Restate", 4}};
  for (const Contestant& peer : peers)
    report.check("order saga, against " + peer.name, at_least(targets.at(peer.name)), ours / rates.at(peer.name));
}

void measure_saga_latency(Server& server, const Options& options, Report& report) {
  std::vector<SagaSeries> all;
  for (const Contestant& c : {skald_fused(), skald_committed(), hand_steps(), hand_pipelined()}) all.push_back({c, 1});
  const std::vector<Contestant> peers = options.peers ? saga_peers(report) : std::vector<Contestant>{};
  for (const Contestant& peer : peers) all.push_back({peer, 1});
  run_rounds(server, options, all);
  std::vector<std::vector<std::string>> rows;
  for (const SagaSeries& series : all)
    rows.push_back({series.contestant.name, number(series.middle(&SagaRun::p50_ms), 2),
                    number(series.middle(&SagaRun::p99_ms), 2), number(series.middle(&SagaRun::rate))});
  report.table("One order saga at a time on PostgreSQL, milliseconds from start to end",
               {"contestant", "p50", "p99", "sagas/s"}, rows);
  const auto p50 = middles(all, &SagaRun::p50_ms);
  double best = std::numeric_limits<double>::infinity();
  for (const Contestant& peer : peers) best = std::min(best, p50.at(peer.name));
  if (!peers.empty())
    report.check("one order saga at a time, p50 against the better peer", at_most(0.3),
                 p50.at(skald_fused().name) / best);
}

void measure_saga_workers(Server& server, const Options& options, Report& report) {
  Contestant half = skald_fused();
  half.name = "skald, two workers";
  half.peer = "skald:fused:" + std::to_string(kConnections / 2);
  // By then two workers have found each other and share the partitions.
  constexpr double kSettled = 4;
  std::vector<SagaSeries> all = {{.contestant = skald_fused(), .warm_up = kSettled},
                                 {.contestant = half, .in_flight = kInFlight / 2, .processes = 2, .warm_up = kSettled}};
  // What is asked is a few percent, and machines change their speed by more: many short turns.
  Options turns = options;
  turns.rounds = 4 * options.rounds;
  turns.seconds = options.seconds / 3;
  run_rounds(server, turns, all);
  const double one = all[0].middle(&SagaRun::rate), two = all[1].middle(&SagaRun::rate);
  std::vector<std::vector<std::string>> rows;
  for (const SagaSeries& series : all)
    rows.push_back({std::to_string(series.processes), number(series.middle(&SagaRun::rate)),
                    number(series.middle(&SagaRun::p99_ms), 1), number(series.middle(&SagaRun::client_cpu)),
                    number(series.middle(&SagaRun::server_cpu)), number(series.middle(&SagaRun::cpu_us))});
  report.table("Order sagas by worker processes on one PostgreSQL, 64 in flight and 8 connections in all",
               {"processes", "sagas/s", "p99 ms", "their CPU", "PostgreSQL", "us/saga"}, rows);
  report.check("two workers on one PostgreSQL, against one", at_least(0.95), two / one);
}

}  // namespace bench
