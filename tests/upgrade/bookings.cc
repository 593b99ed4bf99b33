#include <cstdio>
#include <cstdlib>
#include <set>

#include "chaos/booking_cluster.h"
#include "chaos/booking_traffic.h"
#include "chaos/watcher.h"
#include "skald/checklist.h"
#include "upgrade/upgrade.h"

namespace skald::upgrade {
namespace {

constexpr int kRate = 30, kPhases = 8;
// Seconds. The answer to a question dies with the process that was asked, and the gateway waits for it (nats.timeout, 30 s);
// the only gateway ends within 10 s, and starts anew.
constexpr double kAnswerMax = 42;
constexpr const char* kKept[] = {"booking", "course", "notify"};

class RollBookings {
 public:
  RollBookings(const Versions& versions, const Version& first, const Version& second)
      : versions_(versions),
        first_(first),
        second_(second),
        cluster_(first.program),
        traffic_(cluster_.gateway(), kRate, (versions.seconds + 4) * kPhases) {
    for (const char* name : kKept)
      watchers_.push_back(std::make_unique<chaos::Watcher>(cluster_.database_url(name), name));
  }

  Faults run() {
    traffic_.start();
    pause();
    become("notify");
    become("course");
    die("course", second_);
    die("booking", first_);
    become("booking");
    become("user-api");
    traffic_.stop();
    settle();
    judge();
    return faults_;
  }

 private:
  void pause() { crash::rest(std::chrono::seconds(versions_.seconds)); }
  void become(const std::string& service) {
    const auto begun = std::chrono::steady_clock::now();
    cluster_.service(service).end();
    const double stopped = chaos::seconds_since(begun);
    cluster_.service(service).start_as(second_.program);
    cluster_.wait_until_ready();
    std::printf("  %-8s ended within %.1f s, and serves anew after %.1f s\n", service.c_str(), stopped,
                chaos::seconds_since(begun));
    pause();
  }
  void die(const std::string& service, const Version& version) {
    cluster_.service(service).kill();
    cluster_.service(service).start_as(version.program);
    cluster_.wait_until_ready();
    pause();
  }

  std::int64_t live() {
    std::int64_t out = watchers_[0]->number("SELECT COUNT(*) FROM booking_record WHERE status = 'PENDING'");
    for (const auto& watcher : watchers_) out += watcher->number("SELECT COUNT(*) FROM skald_outbox WHERE live = 1");
    return out + std::abs(ends() - told());  // what goes on between two of these questions
  }
  std::int64_t ends() {
    return watchers_[0]->number(
        "SELECT COUNT(*) FROM booking_history WHERE what IN ('CONFIRMED', 'FAILED', 'CANCELLED')");
  }
  std::int64_t told() { return watchers_[2]->number("SELECT COUNT(*) FROM notify_notification"); }
  void settle() {
    if (!crash::until([&] { return live() == 0; }, 60s))
      faults_.push_back(std::to_string(live()) + " bookings or events have no end");
  }

  void judge() {
    for (std::size_t i = 0; i < watchers_.size(); ++i) {
      for (const std::string& letter :
           watchers_[i]->texts("SELECT id || ', ' || type || ', ' || last_error FROM skald_dead_letter"))
        faults_.push_back(std::string("a dead letter at ") + kKept[i] + ": " + letter);
      for (const std::string& saga :
           watchers_[i]->texts("SELECT id || ', ' || error_message FROM skald_saga WHERE status = 'NEEDS_HELP'"))
        faults_.push_back(std::string("a saga needs help at ") + kKept[i] + ": " + saga);
    }
    const auto known = watchers_[0]->texts("SELECT id FROM booking_record");
    const std::set<std::string> records(known.begin(), known.end());
    for (const std::string& id : traffic_.bookings())
      if (!records.contains(id)) faults_.push_back("booking " + id + " was acknowledged and is not there");
    const double longest = traffic_.take_longest_wait();
    if (longest > kAnswerMax) faults_.push_back("a client was not answered for long: see the services' logs");
    if (ends() != told())
      faults_.push_back(std::to_string(ends()) + " ends, and customers were told of " + std::to_string(told()));
    const auto answer = test::http_request(cluster_.gateway(), "GET", "/booking/invariants", "", {}, 120);
    if (answer.status != 200 || !answer.json().at("ok").as_bool()) faults_.push_back("invariants: " + answer.body);
    std::printf("  %zu bookings, %lld cancelled, %lld ends told, %lld requests sent again, %.1f s the longest wait\n",
                traffic_.bookings().size(), static_cast<long long>(traffic_.cancels()), static_cast<long long>(told()),
                static_cast<long long>(traffic_.asked_again()), longest);
  }

  const Versions& versions_;
  const Version &first_, &second_;
  chaos::BookingCluster cluster_;
  chaos::BookingTraffic traffic_;
  std::vector<std::unique_ptr<chaos::Watcher>> watchers_;  // one per database
  Faults faults_;
};

}  // namespace

Faults roll_bookings(const Versions& versions, const Version& first, const Version& second) {
  std::printf("bookings over NATS: services of %s become %s, one after the other\n", first.name.c_str(),
              second.name.c_str());
  return RollBookings(versions, first, second).run();
}

}  // namespace skald::upgrade
