#include <cstdio>

#include "chaos/storm_traffic.h"
#include "chaos/watcher.h"
#include "upgrade/upgrade.h"

namespace skald::upgrade {
namespace {

constexpr std::size_t kFew = 40;  // of each kind: few enough that nothing waits for its turn for long
constexpr int kQuickMs = 20;
constexpr std::int64_t kBefore = 3'000'000, kAfter = 6'000'000;  // what is looked at, in microseconds
constexpr double kWaitMax = 2.5;                                 // seconds; a lease is 3

struct Waits {
  double event = 0, saga = 0, gap = 0;  // seconds
};

// Of what began in that time, and between two ends in it.
Waits waits(chaos::Watcher& watcher, std::int64_t from, std::int64_t to) {
  const auto seconds = [](std::int64_t micros) { return static_cast<double>(micros) / 1e6; };
  return {
      seconds(
          watcher.number("SELECT COALESCE(MAX(updated_at - created_at), 0)::bigint FROM skald_outbox WHERE live = 0 "
                         "AND created_at BETWEEN $1 AND $2",
                         from, to)),
      seconds(watcher.number("SELECT COALESCE(MAX(finished_at - started_at), 0)::bigint FROM skald_saga WHERE live = 0 "
                             "AND started_at BETWEEN $1 AND $2",
                             from, to)),
      seconds(watcher.number(
          "SELECT COALESCE(MAX(gap), 0)::bigint FROM (SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM (SELECT "
          "updated_at AS at FROM skald_outbox WHERE live = 0 UNION ALL SELECT finished_at FROM skald_saga WHERE live = "
          "0) ends WHERE at BETWEEN $1 AND $2) gaps",
          from, to))};
}

void print(const char* when, const Waits& waits) {
  std::printf("  %-30s event %6.3f s, saga %6.3f s, nothing settled for %6.3f s\n", when, waits.event, waits.saga,
              waits.gap);
}

}  // namespace

Faults stop_one(const Versions& versions, const Version& version, bool bounded) {
  std::printf("%s: one of two servers is asked to end under load; the longest waits\n", version.name.c_str());
  Faults faults;
  chaos::StormSite site(
      {.dialect = Dialect::postgres, .workers = 2, .latency_ms = kQuickMs, .program = version.program});
  chaos::Watcher watcher(site.database_url());
  const auto now = [&] { return watcher.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"); };
  chaos::StormTraffic traffic(site, kFew);
  rest_of(site, versions.seconds + 4, faults);
  const std::int64_t at = now();
  const auto begun = std::chrono::steady_clock::now();
  if (const int status = site.end(0); status != 0) faults.push_back("it ended with " + std::to_string(status));
  const double took = chaos::seconds_since(begun);
  rest_of(site, versions.seconds + 4, faults);
  settle(site, traffic, faults);
  print("in the 3 s before", waits(watcher, at - kBefore, at));
  const Waits after = waits(watcher, at - kBefore / 10, at + kAfter);
  print("from its being asked", after);
  std::printf("  it was gone after %.3f s\n", took);
  if (bounded && std::max({after.event, after.saga, after.gap}) > kWaitMax)
    faults.push_back("a server that is asked to end makes others wait as if it had died");
  return faults;
}

}  // namespace skald::upgrade
