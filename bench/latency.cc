#include <algorithm>
#include <unordered_map>

#include "contestant.h"
#include "sections.h"

namespace bench {
namespace {

constexpr double kSlowRate = 50;
constexpr double kLatencyWarmUp = 1;
constexpr double kSlowSeconds = 20;  // at the least: its p99 is otherwise the worst hiccup of the machine

// Milliseconds from commit to commit, of the events after the warm-up.
std::vector<double> latencies(Server& server, const Contestant& contestant, double rate, double seconds) {
  Match match(server, contestant);
  const auto consumer = match.consumer();
  const auto producer = match.producer(rate, kLatencyWarmUp + seconds);
  consumer->tell("go");
  sleep_for_seconds(1);
  const std::int64_t counted_from = now_ns() + static_cast<std::int64_t>(kLatencyWarmUp * 1e9);
  producer->tell("go");
  producer->expect("done");
  sleep_for_seconds(0.7);  // longer than any contestant's poll
  consumer->tell("stop");
  consumer->expect("done");
  std::unordered_map<std::int64_t, std::int64_t> committed;
  for (const Stamp& stamp : match.produced())
    if (stamp.at_ns >= counted_from) committed[stamp.event] = stamp.at_ns;
  std::vector<double> out;
  for (const Stamp& stamp : match.handled()) {
    const auto found = committed.find(stamp.event);
    // The handler may be done before its producer has woken up to see its own commit.
    if (found != committed.end()) out.push_back(std::max(0.0, static_cast<double>(stamp.at_ns - found->second) / 1e6));
  }
  return out;
}

struct Percentiles {
  double p50, p99, p999;
  std::size_t count;
};

Percentiles percentiles(std::vector<double> values) {
  std::ranges::sort(values);
  return {percentile(values, 0.5), percentile(values, 0.99), percentile(values, 0.999), values.size()};
}

}  // namespace

void measure_latency(Server& server, const Options& options, Report& report, const Rates& rates) {
  struct Entrant {
    Contestant contestant;
    double rate;
    std::vector<double> values;
  };
  std::vector<Entrant> entrants;
  for (const Contestant& c : {skald(), pg_boss_notified(), graphile_worker(), naive_outbox()})
    entrants.push_back({c, kSlowRate, {}});
  for (const Contestant& c : {skald(), pg_boss_polling(), graphile_worker(), naive_outbox()})
    if (const auto found = rates.find(c.name); found != rates.end()) entrants.push_back({c, found->second / 2, {}});
  for (int round = 0; round < options.rounds; ++round) {
    for (Entrant& entrant : entrants) {
      const double seconds = entrant.rate == kSlowRate ? std::max(options.seconds, kSlowSeconds) : options.seconds;
      const auto more = latencies(server, entrant.contestant, entrant.rate, seconds);
      progress("latency, " + entrant.contestant.name + " at " + number(entrant.rate) + "/s: p50 " +
               number(median(more), 2) + " ms");
      entrant.values.insert(entrant.values.end(), more.begin(), more.end());
    }
  }
  std::map<std::string, Percentiles> slow;
  std::vector<std::vector<std::string>> rows;
  std::vector<Report::Bar> bars;
  for (const Entrant& entrant : entrants) {
    const Percentiles p = percentiles(entrant.values);
    const std::string& name = entrant.contestant.name;
    rows.push_back(
        {name, number(entrant.rate), number(p.p50, 2), number(p.p99, 2), number(p.p999, 2), std::to_string(p.count)});
    if (entrant.rate != kSlowRate) continue;
    slow[name] = p;
    bars.push_back({name, p.p50});
  }
  report.table("Producer's commit to handler's commit, milliseconds",
               {"contestant", "events/s", "p50", "p99", "p99.9", "events"}, rows);
  report.chart("Commit to commit at 50/s, p50", "milliseconds, less is better", std::move(bars));
  const auto at_most = [](double value) { return Target{Target::Kind::at_most, value}; };
  report.check("latency p50 at 50/s, against graphile-worker", at_most(0.5),
               slow["skald"].p50 / slow["graphile-worker"].p50);
  report.check("latency p99 at 50/s, against graphile-worker", at_most(1),
               slow["skald"].p99 / slow["graphile-worker"].p99);
}

}  // namespace bench
