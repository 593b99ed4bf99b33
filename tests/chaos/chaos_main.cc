// Four servers on one PostgreSQL, each relaying, under steady donations, while
// random ones are killed with SIGKILL, and some are frozen with SIGSTOP inside of a
// transaction: nothing is lost, the order per donor is kept, every repeat has the
// same id and bytes, repeats are at most kills x sends in flight, and a frozen
// worker is taken over within 10 s.
//   skald_chaos [--seconds N] [--rate N] [--freezes N] [--seed N]
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "chaos/site.h"
#include "chaos/traffic.h"
#include "chaos/verdict.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

constexpr int kInFlight = 64;  // sends that one server has under way at most

struct Options {
  int seconds = 120, rate = 500, freezes = 3;
  unsigned seed = 1;
};

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (name == "--seconds") out.seconds = value;
    else if (name == "--rate") out.rate = value;
    else if (name == "--freezes") out.freezes = value;
    else if (name == "--seed") out.seed = static_cast<unsigned>(value);
  }
  return out;
}

// One statement on the database, for the observer's own questions.
class Watcher {
 public:
  explicit Watcher(const std::string& url)
      : db_(open_postgres({*clock_, *random_, silent_observer()}, {.url = url, .connections = 2})) {}

  std::int64_t number(std::string_view sql, std::int64_t parameter) {
    return db_->read_result([&](Transaction& tx) { return tx.query(sql, parameter).get<std::int64_t>(0, 0); });
  }
  // On the server: this process has nothing to wait with.
  void pause(int milliseconds) {
    db_->read([&](Transaction& tx) { tx.query("SELECT pg_sleep($1 / 1000.0)", milliseconds); });
  }

 private:
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  std::unique_ptr<Database> db_;
};

double seconds_since(steady_clock::time_point begun) {
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
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
  const bool inside = watcher.number(
                          "SELECT COUNT(*) FROM pg_stat_activity a, skald_worker w WHERE w.pid = $1 AND a.state = "
                          "'idle in transaction' AND "
                          "a.datname = current_database() AND position('\"pid\":' || a.pid || ',' in w.sessions) > 0",
                          pid) > 0;
  if (!inside) {
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
  const auto stopped = steady_clock::now();
  while (watcher.number("SELECT COUNT(*) FROM skald_outbox WHERE live = 1 AND $1 = $1", 1) > 0 &&
         seconds_since(stopped) < 60) {
    watcher.pause(200);
    site.drain_logs();
  }
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

int main(int argc, char** argv) { return skald::chaos::run(skald::chaos::parse(argc, argv)); }
