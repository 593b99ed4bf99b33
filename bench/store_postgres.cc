#include <array>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "donation.h"
#include "measure.h"
#include "sections.h"
#include "skald/engine.h"
#include "workload.h"

namespace bench {
namespace {

constexpr int kConnections = 8;

const skald::Migration kMigration{.version = 1, .name = "donation", .sql = kDonationSchema, .postgres_sql = ""};

// Calls each of 8 workers again and again; donations per second.
double rate_of(double seconds, const std::function<void(int worker, std::int64_t n)>& donate) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  const std::int64_t begun = now_ns(), end = begun + static_cast<std::int64_t>(seconds * 1e9);
  {
    std::vector<std::jthread> workers;
    for (int k = 0; k < kConnections; ++k) {
      workers.emplace_back([&, k] {
        try {
          while (now_ns() < end) donate(k, next.fetch_add(1));
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          failed = true;
        }
      });
    }
  }
  if (failed) throw std::runtime_error("a worker has failed");
  return static_cast<double>(next) / (static_cast<double>(now_ns() - begun) / 1e9);
}

double by_skald(skald::Env env, const std::string& url, double seconds) {
  const auto db = skald::open_postgres(env, {.url = url, .connections = kConnections});
  db->migrate("bench", {&kMigration, 1});
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

// Plain libpq: prepared statements, each with its round trip, or all in one.
class Hand {
 public:
  explicit Hand(const std::string& url) : sql_(url) {
    const std::array<std::pair<const char*, const char*>, 5> statements = {{{"begin", "BEGIN"},
                                                                            {"request", kInsertRequest},
                                                                            {"donation", kInsertDonation},
                                                                            {"event", kInsertEvent},
                                                                            {"commit", "COMMIT"}}};
    for (const auto& [name, text] : statements) check(PQprepare(sql_.raw(), name, text, 0, nullptr));
  }

  void donate(std::int64_t n, bool pipelined) {
    const std::string id = donation_id(n), request = "r" + id, donor = donor_of(n), payload = payload_of(n),
                      partition = std::to_string(n % skald::kPartitions), time = "1800000000000000";
    if (pipelined && PQpipelineStatus(sql_.raw()) == PQ_PIPELINE_OFF) PQenterPipelineMode(sql_.raw());
    const auto run = [&](const char* name, std::initializer_list<const char*> values) {
      const std::vector<const char*> params(values);
      const int count = static_cast<int>(params.size());
      if (!pipelined) check(PQexecPrepared(sql_.raw(), name, count, params.data(), nullptr, nullptr, 0));
      else if (PQsendQueryPrepared(sql_.raw(), name, count, params.data(), nullptr, nullptr, 0) == 0)
        throw std::runtime_error(PQerrorMessage(sql_.raw()));
    };
    run("begin", {});
    run("request", {request.c_str(), id.c_str()});
    run("donation", {id.c_str(), donor.c_str(), "500", time.c_str()});
    run("event", {id.c_str(), partition.c_str(), donor.c_str(), kDonationType, request.c_str(), payload.c_str(), "",
                  kSomeHash.c_str(), "3", time.c_str()});
    run("commit", {});
    if (pipelined) finish_pipeline();
  }

 private:
  void check(PGresult* result) {
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC)
      throw std::runtime_error(PQerrorMessage(sql_.raw()));
  }
  void finish_pipeline() {
    PQpipelineSync(sql_.raw());
    for (int i = 0; i < 5; ++i) {
      check(PQgetResult(sql_.raw()));
      PQgetResult(sql_.raw());  // the null between two results
    }
    check(PQgetResult(sql_.raw()));
  }

  Sql sql_;
};

double by_hand(skald::Env env, const std::string& url, double seconds, bool pipelined) {
  {
    const auto db = skald::open_postgres(env, {.url = url});
    db->migrate("bench", {&kMigration, 1});
    skald::Engine engine(env, *db, {.works = false});
  }
  std::vector<std::unique_ptr<Hand>> hands;
  for (int k = 0; k < kConnections; ++k) hands.push_back(std::make_unique<Hand>(url));
  return rate_of(seconds, [&](int k, std::int64_t n) { hands[static_cast<std::size_t>(k)]->donate(n, pipelined); });
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
