#include <algorithm>

#include "contestant.h"
#include "sections.h"

namespace bench {
namespace {

// A contestant that is slower than this is judged by what it has done by then.
constexpr double kPatience = 20;

}  // namespace

double drained_per_second(Server& server, const Contestant& contestant, std::int64_t backlog) {
  Match match(server, contestant);
  const auto consumer = match.consumer();
  match.preload(backlog);
  server.checkpoint();
  Sql sql(match.url());
  const std::int64_t begun = now_ns();
  consumer->tell("go");
  const auto over = [&] { return static_cast<double>(now_ns() - begun) / 1e9 > kPatience; };
  while (!over() && std::stoll(sql.value("SELECT count(*) FROM bench_effect")) < backlog) sleep_for_seconds(0.25);
  consumer->tell("stop");
  consumer->expect("done");
  const auto stamps = match.handled();
  if (stamps.empty()) return 0;
  const auto last = std::ranges::max(stamps, {}, &Stamp::at_ns).at_ns;
  return static_cast<double>(stamps.size()) / (static_cast<double>(last - begun) / 1e9);
}

void measure_drain(Server& server, const Options& options, Report& report) {
  const std::vector<Contestant> contestants = {skald(), pg_boss_draining(), graphile_worker(), naive_outbox()};
  std::map<std::string, std::vector<double>> runs;
  for (int round = 0; round < options.rounds; ++round) {
    for (const Contestant& contestant : contestants) {
      runs[contestant.name].push_back(drained_per_second(server, contestant, options.backlog));
      progress("drain, " + contestant.name + ": " + number(runs[contestant.name].back()) + "/s");
    }
  }
  const double ours = median(runs["skald"]);
  std::vector<std::vector<std::string>> rows;
  std::vector<Report::Bar> bars;
  for (const Contestant& c : contestants) {
    rows.push_back({c.name, number(median(runs[c.name])), number(ours / median(runs[c.name]), 2) + "x", c.settings});
    bars.push_back({c.name, median(runs[c.name])});
  }
  report.table("Draining a backlog of " + std::to_string(options.backlog) + " events",
               {"contestant", "events/s", "skald is", "settings"}, rows);
  report.chart("Draining a backlog", "events per second", std::move(bars));
  report.check("draining a backlog, against the faster peer", {Target::Kind::at_least, 1},
               ours / std::max(median(runs["pg-boss"]), median(runs["graphile-worker"])));
}

}  // namespace bench
