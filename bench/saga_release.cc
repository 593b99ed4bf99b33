// How long a saga that waits is behind what it waits for: a semantic lock, or units that another gives back.
#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "measure.h"
#include "saga_order.h"
#include "sections.h"
#include "skald/engine.h"

namespace bench {
namespace {

using namespace std::chrono_literals;

constexpr int kWaits = 200;
constexpr std::int64_t kSku = 1;
constexpr double kLookSeconds = 0.001;

skald::Saga<PlaceOrder> waiting_for_units() {
  return skald::Saga<PlaceOrder>("bench.buyer")
      .local("reserve stock",
             [](skald::Local& step, PlaceOrder& order) {
               if (step->execute(kReserveStock, order.sku) != 1)
                 throw skald::Busy("BUSY", "none is left", {},
                                   skald::Shortage{"units", std::to_string(order.sku), 1min});
             })
      .nothing_to_undo();
}

skald::Saga<PlaceOrder> holding() {
  return skald::Saga<PlaceOrder>("bench.holder")
      .await("hold", "leave")
      .timeout(1h)
      .holds(
          "product", [](const PlaceOrder& order) { return std::to_string(order.sku); }, skald::exclusive,
          skald::wait_up_to(1min));
}

skald::Saga<PlaceOrder> waiting_for_lock() {
  return skald::Saga<PlaceOrder>("bench.next")
      .local("touch", [](skald::Local&, PlaceOrder&) {})
      .nothing_to_undo()
      .holds(
          "product", [](const PlaceOrder& order) { return std::to_string(order.sku); }, skald::exclusive,
          skald::wait_up_to(1min));
}

// Tells when the saga that was waited for has ended.
class Finish final : public skald::Observer {
 public:
  void count(std::string_view metric, std::int64_t) override {
    if (metric != "sagas_completed_total") return;
    std::lock_guard lock(mutex_);
    ended_.push_back(now_ns());
    changed_.notify_all();
  }
  // When the last of `count` more since the last call ended.
  std::int64_t await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_.size() >= count; });
    const std::int64_t last = ended_.back();
    ended_.clear();
    return last;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> ended_;
};

class Waits {
 public:
  Waits(skald::Env env, skald::Database& db, Finish& finish) : db_(db), finish_(finish), engine_(env, db, {}) {
    if (db_.dialect() == skald::Dialect::sqlite)
      db_.migrate("bench", {&kOrderMigration, 1});  // Server::create() did it
    engine_.sagas().add(buyer_);
    engine_.sagas().add(holder_);
    engine_.sagas().add(next_);
    engine_.start();
  }

  // Milliseconds from the commit that frees to the end of the saga that waited for it.
  double units() {
    db_.write("sell out",
              [](skald::Transaction& tx) { tx.execute("UPDATE bench_stock SET quantity = 0 WHERE sku = $1", kSku); });
    until_waiting(engine_.sagas().start(buyer_, PlaceOrder{0, kSku, false}).id);
    db_.write("give back", [&](skald::Transaction& tx) {
      tx.execute(kReleaseStock, kSku);
      engine_.sagas().freed(tx, "units", std::to_string(kSku));
    });
    const std::int64_t freed = now_ns();
    return static_cast<double>(finish_.await(1) - freed) / 1e6;
  }
  double lock() {
    const std::string holder = engine_.sagas().start(holder_, PlaceOrder{0, kSku, false}).id;
    until_waiting(engine_.sagas().start(next_, PlaceOrder{0, kSku, false}).id);
    db_.write("leave", [&](skald::Transaction& tx) { engine_.sagas().signal(tx, holder, "leave", "{}", "leave"); });
    const std::int64_t freed = now_ns();
    return static_cast<double>(finish_.await(2) - freed) / 1e6;
  }

 private:
  void until_waiting(const std::string& id) {
    const auto waits = [&] {
      return db_.read_result(
          [&](skald::Transaction& tx) { return engine_.sagas().find(tx, id)->status == skald::SagaStatus::WAITING; });
    };
    while (!waits()) sleep_for_seconds(kLookSeconds);
  }

  const skald::Saga<PlaceOrder> buyer_ = waiting_for_units(), holder_ = holding(), next_ = waiting_for_lock();
  skald::Database& db_;
  Finish& finish_;
  skald::Engine engine_;
};

void measure(const std::string& name, Waits& waits, std::vector<std::vector<std::string>>& rows, Report& report) {
  const std::pair<const char*, double (Waits::*)()> kinds[] = {{"units", &Waits::units}, {"a lock", &Waits::lock}};
  for (const auto& [what, wait] : kinds) {
    std::vector<double> times;
    for (int i = 0; i < kWaits; ++i) times.push_back((waits.*wait)());
    std::ranges::sort(times);
    const double p99 = percentile(times, 0.99);
    rows.push_back({name, what, number(percentile(times, 0.5), 1), number(p99, 1), number(times.back(), 1)});
    report.check("a saga that waits for " + std::string(what) + " on " + name + " goes on, p99",
                 {Target::Kind::at_most, 50}, p99, "ms");
  }
}

}  // namespace

void measure_releases(Server& server, Report& report) {
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  Finish finish;
  const skald::Env env{*clock, *random, finish};
  std::vector<std::vector<std::string>> rows;
  {
    const auto db = skald::open_postgres(env, {.url = server.create("bench_run")});
    Waits waits(env, *db, finish);
    measure("PostgreSQL", waits, rows, report);
  }
  server.drop("bench_run");
  {
    const ScratchFolder folder;
    const auto db = skald::open_sqlite(env, {.path = folder.path() + "/waits.db"});
    Waits waits(env, *db, finish);
    measure("SQLite", waits, rows, report);
  }
  report.table("A saga that waits, 200 times each: milliseconds from the commit that frees to its end",
               {"database", "waits for", "p50", "p99", "at most"}, rows);
}

}  // namespace bench
