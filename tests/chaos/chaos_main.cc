// Four servers on one PostgreSQL, each relaying, under steady donations, while
// random ones are killed with SIGKILL, and some are frozen with SIGSTOP inside of a
// transaction: nothing is lost, the order per donor is kept, every repeat has the
// same id and bytes, repeats are at most kills x sends in flight, and a frozen
// worker is taken over within 10 s.
//   skald_chaos [--sagas] [--seconds N] [--rate N] [--freezes N] [--seed N]
//   skald_chaos --booking [--seconds N | --each-once] [--rate N] [--seed N]
//   skald_chaos --storm [--kills N] [--seconds N] [--latency MS] [--db sqlite|postgres|all] [--workers 1|4] [--seed N]
//   skald_chaos --storm --poison N [--db …] [--seed N]
// With --sagas it is the order service that suffers: order_chaos.cc; with --booking the
// booking system over NATS: booking_chaos.cc; with --storm donations and orders, without a pause: storm.cc.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "chaos/booking_chaos.h"
#include "chaos/order_chaos.h"
#include "chaos/site.h"
#include "chaos/storm.h"
#include "chaos/traffic.h"
#include "chaos/verdict.h"
#include "chaos/watcher.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

constexpr int kInFlight = 64;  // sends that one server has under way at most

Options parse(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  Options out;
  out.sagas = std::ranges::find(words, "--sagas") != words.end();
  out.booking = std::ranges::find(words, "--booking") != words.end();
  if (out.sagas) out.seconds = 60, out.rate = 40;
  out.storm = std::ranges::find(words, "--storm") != words.end();
  if (out.booking) out.seconds = 300, out.rate = 200;
  out.each_once = std::ranges::find(words, "--each-once") != words.end();
  if (out.storm) out.seconds = 30;
  const auto number = [&](std::string_view name, auto& value) {
    const auto found = std::ranges::find(words, name);
    if (found != words.end() && found + 1 != words.end())
      value = static_cast<std::remove_reference_t<decltype(value)>>(std::atoi((found + 1)->data()));
  };
  number("--seconds", out.seconds);
  number("--rate", out.rate);
  number("--freezes", out.freezes);
  number("--seed", out.seed);
  number("--kills", out.kills);
  number("--latency", out.latency_ms);
  number("--poison", out.poison);
  number("--workers", out.workers);
  const auto db = std::ranges::find(words, "--db");
  if (db != words.end() && db + 1 != words.end()) out.db = *(db + 1);
  return out;
}

std::int64_t partitions_of(Watcher& watcher, pid_t pid) {
  return watcher.number("SELECT COUNT(*) FROM skald_partition p JOIN skald_worker w ON w.id = p.owner WHERE w.pid = $1",
                        pid);
}

// True where the process was caught inside of a transaction and taken over.
bool freeze(Site& site, Watcher& watcher, std::size_t server, std::vector<std::string>& faults) {
  const pid_t pid = site.pid(server);
  kill(pid, SIGSTOP);
  watcher.pause(200);
  if (!watcher.inside_of_transaction(pid)) {
    kill(pid, SIGCONT);
    return false;
  }
  const auto begun = steady_clock::now();
  while (partitions_of(watcher, pid) > 0 && seconds_since(begun) < 15) watcher.pause(100);
  const double took = seconds_since(begun);
  std::printf("a worker frozen inside of a transaction was taken over after %.1f s\n", took);
  if (took > 10) faults.push_back("a frozen worker was not taken over within 10 s");
  kill(pid, SIGCONT);
  return true;
}

int run(const Options& options) {
  Site site(4);
  Watcher watcher(site.database_url());
  std::mt19937 random(options.seed);
  std::vector<std::string> faults;
  Traffic traffic(site, options.rate);
  const auto begun = steady_clock::now();
  int kills = 0, frozen = 0;
  while (seconds_since(begun) < options.seconds) {
    watcher.pause(static_cast<int>(500 + random() % 1500));
    const std::size_t server = random() % site.size();
    if (frozen < options.freezes && random() % 3 == 0) {
      for (int tries = 0; tries < 20 && frozen < options.freezes; ++tries)
        if (freeze(site, watcher, server, faults)) {
          ++frozen;
          break;
        }
    } else {
      site.kill_and_restart(server);
      ++kills;
    }
    site.drain_logs();
  }
  traffic.stop();
  const auto acknowledged = traffic.acknowledged();
  // A slow machine may need its time; what stands still for so long is stuck.
  auto progress = steady_clock::now();
  const auto stopped = progress;
  std::int64_t live = 0;
  for (std::int64_t fewest = INT64_MAX; seconds_since(progress) < 60;) {
    live = watcher.number("SELECT COUNT(*) FROM skald_outbox WHERE live = 1");
    if (live == 0) break;
    if (live < fewest) progress = steady_clock::now();
    fewest = std::min(fewest, live);
    watcher.pause(200);
    site.drain_logs();
  }
  std::printf("drained in %.0f s, %lld events live\n", seconds_since(stopped), static_cast<long long>(live));
  const auto invariants = site.get("/donation/invariants");
  if (invariants.body.find("\"ok\":false") != std::string::npos) faults.push_back("invariants: " + invariants.body);

  const Verdict verdict = judge(site.receiver().requests(), acknowledged);
  faults.insert(faults.end(), verdict.faults.begin(), verdict.faults.end());
  const std::int64_t repeats_max = static_cast<std::int64_t>(kills + frozen) * kInFlight;
  if (verdict.repeats > repeats_max) faults.push_back("more repeats than kills x sends in flight");
  if (options.freezes > frozen) faults.push_back("no worker could be frozen inside of a transaction");
  std::printf(
      "%zu donations acknowledged in %.0f s, %zu announced; %d kills, %d freezes, %lld requests sent again, %lld "
      "repeated sends (at most %lld)\n",
      acknowledged.size(), seconds_since(begun), verdict.announced, kills, frozen,
      static_cast<long long>(traffic.resent()), static_cast<long long>(verdict.repeats),
      static_cast<long long>(repeats_max));
  for (std::size_t i = 0; i < faults.size() && i < 20; ++i) std::printf("FAULT: %s\n", faults[i].c_str());
  std::printf("%s\n", faults.empty() ? "nothing lost, nothing out of order" : "FAILED");
  return faults.empty() ? 0 : 1;
}

}  // namespace
}  // namespace skald::chaos

int main(int argc, char** argv) {
  const auto options = skald::chaos::parse(argc, argv);
  try {
    return options.booking ? skald::chaos::run_bookings(options)
           : options.sagas ? skald::chaos::run_orders(options)
           : options.storm ? options.poison > 0 ? skald::chaos::run_poison(options) : skald::chaos::run_storm(options)
                           : skald::chaos::run(options);
  } catch (const std::exception& error) {  // caught, so that what was started is stopped
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
}
