// 200 orders and 200 donations under way, and one SIGKILL after the other, each restarted at once:
// on SQLite, on PostgreSQL with one worker, and with four. Kills are nobody's fault: within 60 s of the
// last one all that was acknowledged has settled by itself, nothing is parked, nothing is a dead
// letter, every order is charged once.
#include "chaos/storm.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "chaos/storm_traffic.h"
#include "chaos/storm_verdict.h"
#include "chaos/watcher.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kLive = 200;          // of each kind
constexpr double kSettledWithin = 60;
constexpr Duration kFilledWithin = 60s, kStormMax = 1h;
constexpr std::size_t kFaultsShown = 20, kStuckShown = 100;

struct StormFigures {
  std::string setup;
  int kills = 0;
  double storm_seconds = 0, settled_after = 0;
  std::vector<Census> at_kill;
  std::size_t orders = 0, donations = 0, parked = 0, dead_letters = 0, faults = 0;
};

std::size_t average(const std::vector<Census>& counts, std::size_t Census::* member) {
  std::size_t sum = 0;
  for (const Census& census : counts) sum += census.*member;
  return counts.empty() ? 0 : sum / counts.size();
}

class KillStorm {
 public:
  KillStorm(const Options& options, const StormSetup& setup) : options_(options), random_(options.seed), site_(setup) {
    figures_.setup = setup.name();
  }

  StormFigures run() {
    StormTraffic traffic(site_, kLive);
    fill(traffic);
    rage(traffic);
    traffic.end();
    settle(traffic);
    const StormVerdict verdict = judge_storm(site_, traffic.orders(), traffic.donations());
    figures_.orders = traffic.orders().size();
    figures_.donations = traffic.donations().size();
    figures_.parked = verdict.parked;
    figures_.dead_letters = verdict.dead_letters;
    for (const auto& list : {traffic.refusals(), verdict.faults})
      faults_.insert(faults_.end(), list.begin(), list.end());
    for (const auto& [code, count] : verdict.failed) std::printf("%d orders FAILED: %s\n", count, code.c_str());
    std::printf("%zu orders and %zu donations acknowledged, %zu requests sent again\n", figures_.orders,
                figures_.donations, traffic.sent_again());
    report(verdict.stuck, kStuckShown);
    report(faults_, kFaultsShown);
    figures_.faults = faults_.size() + verdict.stuck.size();
    return figures_;
  }

 private:
  // The first kill meets the full number.
  void fill(const StormTraffic& traffic) {
    const auto full = [&] {
      const Census now = traffic.census();
      return std::min(now.orders, now.donations) >= kLive * 9 / 10;
    };
    if (!crash::until(full, kFilledWithin)) faults_.push_back("so many could not be brought under way");
  }

  // At any times, so that some come at once and between others there is a pause in which a worker can be taken over.
  std::vector<double> kill_times() {
    std::vector<double> times;
    for (int i = 0; i < options_.kills; ++i)
      times.push_back(options_.seconds * static_cast<double>(random_() % 10'000) / 10'000);
    std::ranges::sort(times);
    return times;
  }

  void rage(const StormTraffic& traffic) {
    const auto begun = steady_clock::now();
    for (const double time : kill_times()) {
      const std::size_t worker = random_() % site_.size();
      crash::until([&] { return seconds_since(begun) >= time; }, kStormMax);
      site_.look_after(faults_);
      figures_.at_kill.push_back(traffic.census());
      site_.kill(worker);
      ++figures_.kills;
    }
    figures_.storm_seconds = seconds_since(begun);
    for (const auto member : {&Census::orders, &Census::donations})
      if (average(figures_.at_kill, member) < kLive / 2) faults_.push_back("too few were in flight for a storm");
  }

  void settle(const StormTraffic& traffic) {
    const auto last_kill = steady_clock::now();
    Census left{kLive, kLive};
    while (seconds_since(last_kill) < kSettledWithin) {
      site_.look_after(faults_);
      if (const auto now = site_.census()) left = *now;
      if (traffic.all_answered() && left.empty()) break;
      crash::rest(50ms);
    }
    figures_.settled_after = seconds_since(last_kill);
    if (!traffic.all_answered()) faults_.push_back("a request has no answer yet");
    if (!left.empty())
      faults_.push_back(std::to_string(left.orders) + " orders and " + std::to_string(left.donations) +
                        " donations have not settled by themselves within 60 s of the last kill");
  }

  static void report(const std::vector<std::string>& faults, std::size_t most) {
    for (std::size_t i = 0; i < faults.size() && i < most; ++i) std::printf("FAULT: %s\n", faults[i].c_str());
    if (faults.size() > most) std::printf("and %zu more\n", faults.size() - most);
  }

  const Options options_;
  std::mt19937 random_;
  StormSite site_;
  StormFigures figures_;
  std::vector<std::string> faults_;
};

std::vector<StormSetup> setups_of(const Options& options) {
  std::vector<StormSetup> out;
  if (options.db != "postgres") out.push_back({Dialect::sqlite, 1, options.latency_ms});
  if (options.db == "sqlite") return out;
  for (const std::size_t workers : {1, 4})
    if (options.workers == 0 || options.workers == static_cast<int>(workers))
      out.push_back({Dialect::postgres, workers, options.latency_ms});
  return out;
}

std::string min_and_average(const std::vector<Census>& counts, std::size_t Census::* member) {
  std::size_t least = kLive;
  for (const Census& census : counts) least = std::min(least, census.*member);
  return std::to_string(least) + "/" + std::to_string(average(counts, member));
}

void print_table(const std::vector<StormFigures>& all) {
  std::printf("\n%-15s %5s %6s | in flight at a kill, min/avg | %7s %6s %12s  %s\n", "", "kills", "in s", "settled",
              "parked", "dead letters", "verdict");
  std::printf("%-15s %5s %6s | %13s %14s | %7s\n", "", "", "", "orders", "donations", "after s");
  for (const StormFigures& one : all)
    std::printf("%-15s %5d %6.1f | %13s %14s | %7.1f %6zu %12zu  %s\n", one.setup.c_str(), one.kills, one.storm_seconds,
                min_and_average(one.at_kill, &Census::orders).c_str(),
                min_and_average(one.at_kill, &Census::donations).c_str(), one.settled_after, one.parked,
                one.dead_letters, one.faults == 0 ? "ok" : "FAILED");
}

}  // namespace

int run_storm(const Options& options) {
  std::vector<StormFigures> all;
  for (const StormSetup& setup : setups_of(options)) {
    std::printf("%s: %d kills in %d s, seed %u\n", setup.name().c_str(), options.kills, options.seconds, options.seed);
    all.push_back(KillStorm(options, setup).run());
    std::fflush(stdout);
  }
  print_table(all);
  return !all.empty() && std::ranges::all_of(all, [](const StormFigures& one) { return one.faults == 0; }) ? 0 : 1;
}

}  // namespace skald::chaos
