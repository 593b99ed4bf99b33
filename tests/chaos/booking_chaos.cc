// The booking system on one machine as it is deployed, under steady bookings and
// cancellations, while services are killed with SIGKILL, PostgreSQL stops at once, and NATS
// restarts, also with an older store: all of it, or its messages alone, so that its
// consumers are ahead of them. Afterwards everything was answered and has come to its end in
// time, each customer was told, and the invariants hold.
#include "chaos/booking_chaos.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>

#include "chaos/booking_cluster.h"
#include "chaos/booking_traffic.h"
#include "chaos/watcher.h"
#include "runtime/signals.h"
#include "skald/checklist.h"
#include "skald/json.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

constexpr const char* kServices[] = {"booking", "course", "notify", "user-api"};
constexpr const char* kDatabases[] = {"booking", "course", "notify"};
// The saga's timeout; and until whoever died is back, has its partitions and has caught up.
constexpr double kTimeout = 60, kRecovery = 30;

enum class Blow { service, two_services, postgres, nats, older_store, older_messages };

const char* name_of(Blow blow) {
  switch (blow) {
    case Blow::service: return "a service killed";
    case Blow::two_services: return "two services killed";
    case Blow::postgres: return "PostgreSQL stopped at once";
    case Blow::nats: return "NATS killed";
    case Blow::older_store: return "NATS with an older store";
    case Blow::older_messages: return "NATS with older messages, its consumers ahead";
  }
  return "";
}

class BookingStorm {
 public:
  explicit BookingStorm(const Options& options)
      : options_(options), random_(options.seed), traffic_(cluster_.gateway(), options.rate, options.seconds) {
    for (const char* name : kDatabases)
      watchers_.emplace_back(std::make_unique<Watcher>(cluster_.database_url(name), name));
  }

  int run() {
    rage();
    settle();
    judge_bookings();
    judge_notifications();
    judge_invariants();
    std::printf("%s\n", faults_ == 0 ? "everything answered, nothing stuck, seats and money add up" : "FAILED");
    return faults_ == 0 ? 0 : 1;
  }

 private:
  void fault(const std::string& what) {
    if (++faults_ <= 20) std::printf("FAULT: %s\n", what.c_str());
  }

  void rage() {
    traffic_.start();
    const auto begun = steady_clock::now();
    while (seconds_since(begun) < options_.seconds &&
           !signals_.wait(Duration(std::chrono::milliseconds(500 + random_() % 3000)))) {
      const Blow blow = deal();
      const auto at = steady_clock::now();
      strike(blow);
      const double took = seconds_since(at);
      std::printf("%4.0f s  %s; all up again after %.1f s; %lld sent\n", seconds_since(begun), name_of(blow), took,
                  static_cast<long long>(traffic_.sent()));
      std::fflush(stdout);
    }
    const auto stopped = steady_clock::now();
    traffic_.stop();
    std::printf(
        "%lld requests in %.0f s, the last answered %.1f s later: %zu bookings acknowledged, %lld cancelled, %lld "
        "asked again, "
        "%.1f s the longest wait for an answer\n",
        static_cast<long long>(traffic_.sent()), seconds_since(begun), seconds_since(stopped),
        traffic_.bookings().size(), static_cast<long long>(traffic_.cancels()),
        static_cast<long long>(traffic_.asked_again()), traffic_.longest_wait());
    for (const auto& [code, count] : traffic_.refused())
      std::printf("  refused: %s %lld\n", code.c_str(), static_cast<long long>(count));
  }

  // From a shuffled deck, so that each kind comes in its share.
  Blow deal() {
    if (deck_.empty()) {
      deck_ = {Blow::service,  Blow::service, Blow::service,     Blow::two_services,
               Blow::postgres, Blow::nats,    Blow::older_store, Blow::older_messages};
      std::ranges::shuffle(deck_, random_);
    }
    const Blow out = deck_.back();
    deck_.pop_back();
    return out;
  }

  void strike(Blow blow) {
    const auto victim = random_() % std::size(kServices);
    switch (blow) {
      case Blow::two_services: cluster_.kill(kServices[(victim + 1) % std::size(kServices)]); [[fallthrough]];
      case Blow::service: cluster_.kill(kServices[victim]); break;
      case Blow::postgres: cluster_.kill("postgres"); break;
      case Blow::nats:
        cluster_.kill("nats");
        cluster_.nats_store().save();
        break;
      case Blow::older_store:
        cluster_.kill("nats");
        if (cluster_.nats_store().is_saved()) cluster_.nats_store().restore();
        break;
      case Blow::older_messages:
        cluster_.stop_nats_cleanly();
        if (cluster_.nats_store().is_saved()) cluster_.nats_store().restore_messages();
        break;
    }
    signals_.wait(Duration(std::chrono::milliseconds(random_() % 1500)));
    cluster_.up();
  }

  // Until nothing is under way; what stands still for so long is stuck.
  void settle() {
    const auto begun = steady_clock::now();
    auto progress = begun;
    std::int64_t left = 1;
    for (std::int64_t fewest = INT64_MAX; left > 0 && seconds_since(progress) < kTimeout + kRecovery;) {
      left = booking().number("SELECT COUNT(*) FROM booking_record WHERE status = 'PENDING'") + untold();
      for (const auto& watcher : watchers_) left += watcher->number("SELECT COUNT(*) FROM skald_outbox WHERE live = 1");
      if (left < fewest) progress = steady_clock::now();
      fewest = std::min(fewest, left);
      signals_.wait(200ms);
    }
    if (left > 0) fault(std::to_string(left) + " bookings or events have no end");
    std::printf("settled in %.0f s\n", seconds_since(begun));
    for (std::size_t i = 0; i < watchers_.size(); ++i) {
      for (const std::string& letter : watchers_[i]->texts(
               "SELECT d.id || ', ' || d.type || ', ' || d.reason || ': ' || d.last_error || COALESCE((SELECT "
               "string_agg('; ' || a.at || ' ' || a.outcome || ' ' || a.error, '' ORDER BY a.at) FROM skald_attempt a "
               "WHERE a.event_id = d.id), '') FROM skald_dead_letter d"))
        fault(std::string("a dead letter at ") + kDatabases[i] + ": " + letter);
    }
  }

  // What is on its way between two services is in neither's tables.
  std::int64_t untold() {
    return booking().number("SELECT COUNT(*) FROM booking_history WHERE what IN ('CONFIRMED', 'FAILED', 'CANCELLED')") -
           watchers_[2]->number("SELECT COUNT(*) FROM notify_notification");
  }

  void judge_bookings() {
    const auto known = booking().texts("SELECT id FROM booking_record");
    const std::set<std::string> records(known.begin(), known.end()),
        acknowledged(traffic_.bookings().begin(), traffic_.bookings().end());
    for (const std::string& id : acknowledged)
      if (!records.contains(id)) fault("booking " + id + " was acknowledged and is not there");
    for (const std::string& id : records)
      if (!acknowledged.contains(id)) fault("booking " + id + " was made for nobody: its key was used twice");
    if (acknowledged.size() != traffic_.bookings().size()) fault("two requests were given the same booking");
    const auto slowest = booking().texts(
        "SELECT c.booking_id FROM booking_history c JOIN booking_history e ON e.booking_id = c.booking_id AND e.seq = "
        "c.seq + 1 WHERE c.what = 'CREATED' ORDER BY e.at - c.at DESC LIMIT 1");
    if (slowest.empty()) return fault("no booking has come to an end");
    const double longest =
        static_cast<double>(booking().number("SELECT e.at - c.at FROM booking_history c JOIN booking_history e ON "
                                             "e.booking_id = c.booking_id AND e.seq = c.seq + 1 WHERE c.what = "
                                             "'CREATED' AND c.booking_id = $1",
                                             slowest[0])) /
        1e6;
    std::printf("from its creation to its end a booking took %.1f s at most\n", longest);
    if (longest > kTimeout / 2) std::printf("its story: %s\n", ask("/api/story/" + slowest[0]).body.c_str());
    if (longest > kTimeout + kRecovery) fault("a booking was stuck for longer than its timeout and the recovery");
    for (const char* status : {"CONFIRMED", "FAILED", "CANCELLED"})
      std::printf("  %s %lld\n", status,
                  static_cast<long long>(
                      booking().number("SELECT COUNT(*) FROM booking_record WHERE status = $1", std::string(status))));
  }

  // Each end is told once; the table's key lets none be told twice.
  void judge_notifications() {
    auto ends = booking().texts(
        "SELECT booking_id || ' ' || what FROM booking_history WHERE what IN ('CONFIRMED', 'FAILED', 'CANCELLED')");
    auto told = watchers_[2]->texts("SELECT booking_id || ' ' || kind FROM notify_notification");
    std::ranges::sort(ends);
    std::ranges::sort(told);
    std::vector<std::string> differ;
    std::ranges::set_symmetric_difference(ends, told, std::back_inserter(differ));
    for (const std::string& one : differ) fault("happened and not told, or told and not happened: " + one);
    std::printf("%zu ends, %zu told\n", ends.size(), told.size());
  }

  void judge_invariants() {
    const auto answer = ask("/booking/invariants");
    if (answer.status != 200) return fault("invariants: " + answer.body);
    for (const Check& check : from_json<Invariants>(answer.body).checks)
      if (!check.ok) fault("invariant " + check.name + ": " + check.detail);
  }

  test::HttpAnswer ask(const std::string& path) const {
    return test::http_request(cluster_.gateway(), "GET", path, "", {}, 120);
  }
  Watcher& booking() { return *watchers_[0]; }

  const Options options_;
  std::mt19937 random_;
  runtime::StopSignals signals_;  // before there are threads
  BookingCluster cluster_;
  BookingTraffic traffic_;
  std::vector<std::unique_ptr<Watcher>> watchers_;  // one per database
  std::vector<Blow> deck_;
  int faults_ = 0;
};

}  // namespace

int run_bookings(const Options& options) { return BookingStorm(options).run(); }

}  // namespace skald::chaos
