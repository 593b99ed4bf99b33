// This version of the booking system in turns with another one: both as they are run, each by its own tools/cluster.sh,
// and asked by the same generator, which is ours.
#include <algorithm>

#include "booking_hot.h"
#include "booking_traffic.h"
#include "measure.h"
#include "sections.h"
#include "turns.h"

namespace bench {
namespace {

constexpr int kHotCustomers = 1000, kHotRuns = 5;  // they are short
constexpr BookingLoad kWarmUp{.rate = 50, .seconds = 4};
constexpr double kQuietRate = 50;
constexpr int kFollowedOfFlood = 20;

enum class Better { more, less };
struct Figure {
  std::string name, unit;
  Better better;
  int decimals;
  Turns turns;
};

// More than either takes.
double flood_rate(BookingSite::Kind kind) { return kind == BookingSite::Kind::embedded ? 2000 : 1000; }

double nats_us(const BookingRun& run) { return run.cpu_percent.at("nats") * 1e4 / run.load.rate; }

double hot_slot(const BookingSite& site) {
  std::vector<double> runs;
  for (int i = 0; i < kHotRuns; ++i) runs.push_back(hot_slot_seconds(site, kHotCustomers));
  return median(runs);
}

// One version's round: a value for each figure, in their order.
std::vector<double> play(BookingSite::Kind kind, const Version& version, double seconds) {
  const BookingSite site(kind, version);
  run_bookings(site, kWarmUp);
  const BookingRun quiet = run_bookings(site, {.rate = kQuietRate, .seconds = seconds});
  const BookingRun flood =
      run_bookings(site, {.rate = flood_rate(kind), .seconds = seconds, .follow_one_in = kFollowedOfFlood});
  std::vector<double> out = {static_cast<double>(flood.told.booked) / flood.told.seconds, quiet.told.p50_ms,
                             hot_slot(site)};
  if (site.is_distributed()) out.push_back(nats_us(quiet));
  return out;
}

std::vector<Figure> figures_of(BookingSite::Kind kind) {
  std::vector<Figure> out = {{"bookings sustained", "/s", Better::more, 1, {}},
                             {"50/s: booking to confirmed, p50", "ms", Better::less, 2, {}},
                             {"hot slot: last request to last answer", "s", Better::less, 2, {}}};
  if (kind == BookingSite::Kind::distributed)
    out.push_back({"50/s: NATS's processor time per booking", "us", Better::less, 0, {}});
  return out;
}

// As many times as good as before.
double gain(const Figure& figure) {
  const double before = figure.turns.middle(Turn::before), now = figure.turns.middle(Turn::now);
  return figure.better == Better::more ? now / before : before / now;
}

std::string shown(const Figure& figure, Turn turn) {
  const auto [least, most] = std::ranges::minmax(figure.turns.of(turn));
  return number(figure.turns.middle(turn), figure.decimals) + " (" + number(least, figure.decimals) + " to " +
         number(most, figure.decimals) + ")";
}

void compare(BookingSite::Kind kind, const std::string& where, const Options& options, Report& report) {
  std::vector<Figure> figures = figures_of(kind);
  in_turns(options.rounds, [&](Turn turn) {
    const Version version = turn == Turn::now ? this_version() : version_in(options.against);
    const std::vector<double> played = play(kind, version, options.seconds);
    std::string told = where + (turn == Turn::now ? ", now" : ", before");
    for (std::size_t i = 0; i < figures.size(); ++i) {
      figures[i].turns.add(turn, played[i]);
      told += "; " + figures[i].name + " " + number(played[i], figures[i].decimals) + " " + figures[i].unit;
    }
    progress(told);
  });
  std::vector<std::vector<std::string>> rows;
  for (const Figure& figure : figures) {
    rows.push_back({figure.name, figure.unit, shown(figure, Turn::before), shown(figure, Turn::now),
                    number(gain(figure), 2) + "x"});
    report.check(where + ", " + figure.name + ", against the version before", {Target::Kind::at_least, 0.97},
                 gain(figure));
  }
  report.table(where + ", this version beside the other: above 1x this one is better",
               {"what", "unit", "before (least to most)", "now (least to most)", "ratio"}, rows);
}

}  // namespace

void measure_bookings_against(const Options& options, Report& report) {
  report.setting("sustained",
                 "accepted bookings over the time until the last of those that are followed is confirmed; " +
                     number(flood_rate(BookingSite::Kind::embedded)) + "/s are asked for, distributed " +
                     number(flood_rate(BookingSite::Kind::distributed)) + "/s");
  if (options.wants("embedded")) compare(BookingSite::Kind::embedded, "Embedded", options, report);
  if (options.wants("distributed")) compare(BookingSite::Kind::distributed, "Distributed", options, report);
}

}  // namespace bench
