// Booking to confirmed, and what the system bears.
#include <algorithm>

#include "backlog.h"
#include "booking_traffic.h"
#include "measure.h"
#include "sections.h"

namespace bench {
namespace {

constexpr double kCalmRate = 50, kHighRate = 400;
constexpr int kFollowedOfMany = 20;
constexpr BookingLoad kWarmUpLoad{.rate = kCalmRate, .seconds = 4};

Target at_most(double value) { return {Target::Kind::at_most, value}; }
Target at_least(double value) { return {Target::Kind::at_least, value}; }

std::int64_t refusals(const BookingRun& run) {
  std::int64_t sum = 0;
  for (const auto& [code, count] : run.told.refused) sum += count;
  return sum;
}

void tell(const std::string& where, const BookingRun& run, Report& report) {
  const Told& told = run.told;
  progress(where + " at " + number(run.load.rate) + "/s: p50 " + number(told.p50_ms, 1) + " ms, p99 " +
           number(told.p99_ms, 1) + " ms");
  report.table(where + " at " + number(run.load.rate) + " bookings/s for " + number(run.load.seconds) +
                   " s: milliseconds from when one was due to when its customer saw it confirmed",
               {"sent", "accepted", "refused", "followed", "p50", "p99", "longest", "sent late, p99", "at most"},
               {{std::to_string(told.sent), std::to_string(told.booked), std::to_string(refusals(run)),
                 std::to_string(told.confirmed), number(told.p50_ms, 1), number(told.p99_ms, 1),
                 number(told.worst_ms, 1), number(told.late_p99_ms, 1), number(told.latest_ms, 1)}});
}

void tell_cpu(const std::string& where, const BookingRun& run, Report& report) {
  std::vector<std::vector<std::string>> rows;
  double sum = 0;
  const auto add = [&](const std::string& name, double percent) {
    rows.push_back({name, number(percent, 1), number(percent * 1e4 / run.load.rate)});
    sum += percent;
  };
  for (const auto& [name, percent] : run.cpu_percent) add(name, percent);
  add("others on the machine", run.others_cpu_percent);
  rows.push_back({"together", number(sum, 1), number(sum * 1e4 / run.load.rate)});
  report.table(where + " at " + number(run.load.rate) + " bookings/s: whose CPU",
               {"process", "% of one core", "us/booking"}, rows);
}

// Per booking that came: where the system does not keep up, that is less than a whole one.
void tell_cost(const BookingRun& run, Report& report) {
  report.table("Distributed at " + number(run.load.rate) + " bookings/s: one booking, all services together",
               {"commits", "WAL bytes", "WAL syncs", "bytes read by NATS", "bytes written by NATS"},
               {{number(run.cost.commits, 1), number(run.cost.wal_bytes), number(run.cost.wal_syncs, 2),
                 number(run.cost.nats_bytes_in), number(run.cost.nats_bytes_out)}});
}

void tell_backlog(const BookingRun& run, Report& report) {
  const Backlog backlog = backlog_of(run.backlog);
  report.table("Distributed at " + number(run.load.rate) + " bookings/s: does it keep up",
               {"confirmed/s", "backlog in the first third", "in the last third", "at most", "samples"},
               {{number(run.confirmed_rate, 1), number(backlog.early), number(backlog.late), number(backlog.most),
                 std::to_string(run.backlog.size())}});
  report.check("distributed, " + number(run.load.rate) + "/s asked for: confirmed", at_least(0.99 * run.load.rate),
               run.confirmed_rate, "/s");
  report.check("distributed, " + number(run.load.rate) + "/s: growth of the backlog, last third against first",
               at_most(run.load.rate), backlog.growth(), "entries");
}

}  // namespace

void measure_embedded_bookings(const Options& options, Report& report) {
  report.setting("embedded",
                 "one `skald serve` with the four services, a SQLite file each; every booking followed "
                 "by its event stream");
  const BookingSite site(BookingSite::Kind::embedded);
  run_bookings(site, kWarmUpLoad);
  const BookingRun run = run_bookings(site, {.rate = kCalmRate, .seconds = options.seconds});
  tell("Embedded", run, report);
  tell_cpu("Embedded", run, report);
  report.check("embedded, 50/s: booking to confirmed, p50", at_most(10), run.told.p50_ms, "ms");
  report.check("embedded, 50/s: booking to confirmed, p99", at_most(50), run.told.p99_ms, "ms");
  report.chart("Booking to confirmed in one process, p50", "ms", {{"skald embedded, 50/s", run.told.p50_ms}});
}

void measure_distributed_bookings(const Options& options, Report& report) {
  report.setting("distributed",
                 "user-api, booking, course and notify as processes, three databases on one PostgreSQL "
                 "server, NATS JetStream, the generator: all on this machine; at 400/s one booking in " +
                     std::to_string(kFollowedOfMany) + " is followed");
  const BookingSite site(BookingSite::Kind::distributed);
  run_bookings(site, kWarmUpLoad);
  const BookingRun calm = run_bookings(site, {.rate = kCalmRate, .seconds = options.seconds});
  tell("Distributed", calm, report);
  tell_cpu("Distributed", calm, report);
  tell_cost(calm, report);
  report.check("distributed, 50/s: booking to confirmed, p50", at_most(25), calm.told.p50_ms, "ms");
  const BookingRun high =
      run_bookings(site, {.rate = kHighRate, .seconds = options.seconds, .follow_one_in = kFollowedOfMany});
  tell("Distributed", high, report);
  tell_cpu("Distributed", high, report);
  tell_cost(high, report);
  tell_backlog(high, report);
  report.chart("Booking to confirmed as four processes over NATS, p50", "ms",
               {{"skald distributed, 50/s", calm.told.p50_ms}, {"skald distributed, 400/s", high.told.p50_ms}});
}

}  // namespace bench
