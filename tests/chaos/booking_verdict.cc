#include "chaos/booking_verdict.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "skald/checklist.h"
#include "skald/json.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

// The saga's timeout; and until whoever died is back, has its partitions and has caught up.
constexpr double kTimeout = 60, kRecovery = 30;
constexpr const char* kEnds[] = {"CONFIRMED", "FAILED", "CANCELLED"};

// From being accepted to the first end, of each booking, in microseconds.
constexpr const char* kTimes =
    "FROM booking_history c JOIN booking_history e ON e.booking_id = c.booking_id AND e.seq = c.seq + 1 "
    "WHERE c.what = 'CREATED'";

}  // namespace

BookingVerdict::BookingVerdict(const BookingCluster& cluster, const BookingTraffic& traffic)
    : cluster_(cluster), traffic_(traffic) {
  for (const char* name : cluster.kDatabases)
    watchers_.push_back(std::make_unique<Watcher>(cluster.database_url(name), name));
}

// What is on its way between two services may be in neither's tables: those that were not told are counted, too.
std::int64_t BookingVerdict::under_way() {
  std::int64_t left =
      booking().number("SELECT COUNT(*) FROM booking_record WHERE status = 'PENDING'") +
      booking().number("SELECT COUNT(*) FROM booking_record WHERE release_sent = 1 AND released_at IS NULL") +
      booking().number("SELECT COUNT(*) FROM booking_history WHERE what IN ('CONFIRMED', 'FAILED', 'CANCELLED')") -
      notify().number("SELECT COUNT(*) FROM notify_notification");
  for (const auto& watcher : watchers_)
    left += watcher->number("SELECT COUNT(*) FROM skald_outbox WHERE live = 1 OR owed <> 0");
  return left;
}

bool BookingVerdict::settle(runtime::StopSignals& stop) {
  const auto begun = steady_clock::now();
  auto progress = begun;
  std::int64_t left = 1;
  for (std::int64_t fewest = INT64_MAX; left > 0 && seconds_since(progress) < kTimeout + kRecovery;) {
    if (stop.wait(200ms)) return false;
    left = under_way();
    if (left < fewest) progress = steady_clock::now();
    fewest = std::min(fewest, left);
  }
  if (left > 0) faults_.push_back(std::to_string(left) + " bookings, events or notifications have no end");
  std::printf("settled in %.0f s\n", seconds_since(begun));
  return true;
}

void BookingVerdict::judge() {
  std::printf("counted:\n");
  judge_bookings();
  judge_times();
  judge_telling();
  judge_queues();
  judge_invariants();
  judge_logs();
}

void BookingVerdict::print(const char* what, std::int64_t count) const {
  std::printf("  %-40s %9lld\n", what, static_cast<long long>(count));
}

void BookingVerdict::judge_bookings() {
  const auto known = booking().texts("SELECT id FROM booking_record");
  const std::set<std::string> records(known.begin(), known.end()),
      acknowledged(traffic_.bookings().begin(), traffic_.bookings().end());
  for (const std::string& id : acknowledged)
    if (!records.contains(id)) faults_.push_back("booking " + id + " was acknowledged and is not there");
  for (const std::string& id : records)
    if (!acknowledged.contains(id)) faults_.push_back("booking " + id + " was made for nobody: its key was used twice");
  if (acknowledged.size() != traffic_.bookings().size()) faults_.push_back("two requests were given the same booking");
  print("bookings acknowledged", static_cast<std::int64_t>(acknowledged.size()));
  print("bookings there", static_cast<std::int64_t>(records.size()));
  std::int64_t ended = 0;
  for (const std::string status : kEnds) {
    const auto count = booking().number("SELECT COUNT(*) FROM booking_record WHERE status = $1", status);
    print(("  " + status).c_str(), count);
    ended += count;
  }
  for (const std::string& reason : booking().texts(
           "SELECT '    ' || reason_code || ' ' || COUNT(*) FROM booking_record WHERE status = 'FAILED' GROUP BY "
           "reason_code"))
    std::printf("%s\n", reason.c_str());
  if (ended != static_cast<std::int64_t>(records.size()))
    faults_.push_back(std::to_string(static_cast<std::int64_t>(records.size()) - ended) +
                      " bookings were acknowledged and not answered");
}

void BookingVerdict::judge_times() {
  const auto slowest =
      booking().texts("SELECT c.booking_id " + std::string(kTimes) + " ORDER BY e.at - c.at DESC LIMIT 1");
  if (slowest.empty()) return faults_.push_back("no booking has come to an end");
  const auto percentile = [&](const char* part) {
    return static_cast<double>(booking().number("SELECT percentile_disc(" + std::string(part) +
                                                ") WITHIN GROUP (ORDER BY e.at - c.at) " + kTimes)) /
           1e6;
  };
  const double longest = percentile("1");
  std::printf("  from its acceptance to its end, s: half of them %.3f, 99 of 100 %.1f, the longest %.1f\n",
              percentile("0.5"), percentile("0.99"), longest);
  if (longest > kTimeout / 2) std::printf("  its story: %s\n", slowest[0].c_str());
  if (longest > kTimeout + kRecovery)
    faults_.push_back("booking " + slowest[0] + " was stuck for longer than its timeout and the recovery");
}

// Each end is told once; the table's key lets none be told twice.
void BookingVerdict::judge_telling() {
  auto ends = booking().texts(
      "SELECT booking_id || ' ' || what FROM booking_history WHERE what IN ('CONFIRMED', 'FAILED', 'CANCELLED')");
  auto told = notify().texts("SELECT booking_id || ' ' || kind FROM notify_notification");
  std::ranges::sort(ends);
  std::ranges::sort(told);
  std::vector<std::string> differ;
  std::ranges::set_symmetric_difference(ends, told, std::back_inserter(differ));
  for (const std::string& one : differ) faults_.push_back("happened and not told, or told and not happened: " + one);
  print("ends of bookings", static_cast<std::int64_t>(ends.size()));
  print("customers told", static_cast<std::int64_t>(told.size()));
}

void BookingVerdict::judge_queues() {
  std::int64_t events = 0;
  for (std::size_t i = 0; i < watchers_.size(); ++i) {
    const std::string where = cluster_.kDatabases[i];
    if (const auto owed = watchers_[i]->number("SELECT COUNT(*) FROM skald_outbox WHERE owed <> 0"); owed > 0)
      faults_.push_back(where + " owes its subscribers " + std::to_string(owed) + " events");
    for (const std::string& letter : watchers_[i]->texts(
             "SELECT d.id || ', ' || d.type || ', ' || d.reason || ': ' || d.last_error FROM skald_dead_letter d"))
      faults_.push_back("a dead letter at " + where + ": " + letter);
    events += watchers_[i]->number("SELECT COUNT(*) FROM skald_outbox WHERE source = ''");
  }
  print("events between the services", events);
}

void BookingVerdict::judge_invariants() {
  for (const std::string path : {"/booking/invariants", "/booking/course/invariants"}) {
    const auto answer = test::http_request(cluster_.gateway(), "GET", path, "", {}, 120);
    if (answer.status != 200) {
      faults_.push_back(path + ": " + answer.body);
      continue;
    }
    const auto checks = from_json<Invariants>(answer.body).checks;
    for (const Check& check : checks)
      if (!check.ok) faults_.push_back(path + ": " + check.name + ": " + check.detail);
    print((path + ", checks").c_str(), static_cast<std::int64_t>(checks.size()));
  }
}

// A synchronous standby has all that was acknowledged, so nobody may have seen a commit go, or a receiver's place.
void BookingVerdict::judge_logs() {
  for (const auto& [message, count] : cluster_.logged("critical")) faults_.push_back("logged: " + message);
  for (const auto& [message, count] : cluster_.logged("error")) {
    std::printf("  logged as an error, %lld times: %s\n", static_cast<long long>(count), message.c_str());
    if (message.starts_with("the database has lost commits")) faults_.push_back("logged: " + message);
  }
}

}  // namespace skald::chaos
