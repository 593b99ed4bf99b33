#include <array>
#include <functional>

#include "closed_loop.h"
#include "donation.h"
#include "sections.h"
#include "skald/engine.h"
#include "workload.h"

namespace bench {
namespace {

constexpr int kConnections = 8;

// Donations per second, by 8 threads.
double rate_of(double seconds, const std::function<void(int worker, std::int64_t n)>& donate) {
  const std::int64_t begun = now_ns();
  const auto donations = closed_loop(kConnections, seconds, donate);
  return per_second(donations, begun, now_ns());
}

double by_skald(skald::Env env, const std::string& url, double seconds) {
  const auto db = skald::open_postgres(env, {.url = url, .connections = kConnections});
  db->migrate("bench", {&kDonationMigration, 1});
  skald::Engine engine(env, *db, {.works = false});
  return rate_of(seconds, [&](int, std::int64_t n) {
    const std::string id = donation_id(n), request = "r" + id, donor = donor_of(n);
    db->write("donate", [&](skald::Transaction& tx) {
      tx.enqueue(kInsertRequest, request, id);
      tx.enqueue(kInsertDonation, id, donor, 500, 1'800'000'000'000'000);
      tx.emit({.type = kDonationType, .key = donor, .subject = request, .payload = payload_of(n)});
    });
  });
}

constexpr std::array<PreparedSql::Named, 5> kByHand = {{{"begin", "BEGIN"},
                                                        {"request", kInsertRequest},
                                                        {"donation", kInsertDonation},
                                                        {"event", kInsertEvent},
                                                        {"commit", "COMMIT"}}};

void donate(PreparedSql& sql, std::int64_t n) {
  const std::string id = donation_id(n), request = "r" + id, donor = donor_of(n), payload = payload_of(n),
                    partition = std::to_string(n % skald::kPartitions), time = "1800000000000000";
  sql.add("begin", {});
  sql.add("request", {request.c_str(), id.c_str()});
  sql.add("donation", {id.c_str(), donor.c_str(), "500", time.c_str()});
  sql.add("event", {id.c_str(), partition.c_str(), donor.c_str(), kDonationType, request.c_str(), payload.c_str(), "",
                    kSomeHash.c_str(), "3", time.c_str()});
  sql.add("commit", {});
  sql.flush();
}

double by_hand(skald::Env env, const std::string& url, double seconds, bool pipelined) {
  {
    const auto db = skald::open_postgres(env, {.url = url});
    db->migrate("bench", {&kDonationMigration, 1});
    skald::Engine engine(env, *db, {.works = false});
  }
  std::vector<std::unique_ptr<PreparedSql>> hands;
  for (int k = 0; k < kConnections; ++k) hands.push_back(std::make_unique<PreparedSql>(url, kByHand, pipelined));
  return rate_of(seconds, [&](int k, std::int64_t n) { donate(*hands[static_cast<std::size_t>(k)], n); });
}

}  // namespace

void measure_postgres_store(Server& server, const Options& options, Report& report) {
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  const skald::Env env{*clock, *random, skald::silent_observer()};
  std::vector<double> ours, plain, pipelined;
  for (int round = 0; round < options.rounds; ++round) {
    ours.push_back(by_skald(env, server.create("bench_run"), options.seconds));
    plain.push_back(by_hand(env, server.create("bench_run"), options.seconds, false));
    pipelined.push_back(by_hand(env, server.create("bench_run"), options.seconds, true));
  }
  server.drop("bench_run");
  const double rate = median(ours);
  report.setting("PostgreSQL",
                 "8 threads on 8 connections, one donation per transaction: the same three rows; by hand without key "
                 "locks and hashes");
  const auto row = [&](const std::string& name, double value) {
    return std::vector<std::string>{name, number(value), number(rate / value, 2) + "x"};
  };
  report.table("PostgreSQL: donations per second", {"who", "donations/s", "skald is"},
               {row("skald", rate), row("by hand, a round trip per statement", median(plain)),
                row("by hand, one pipeline", median(pipelined))});
  report.chart(
      "PostgreSQL, 8 connections", "donations per second",
      {{"skald", rate}, {"by hand, round trips", median(plain)}, {"by hand, one pipeline", median(pipelined)}});
}

}  // namespace bench
