#include "roles.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "skald/engine.h"
#include "workload.h"

namespace bench {
namespace {

constexpr const char* kEventType = "bench.stock_reserved";

// Hears from the engine that a batch has been committed: the handlers that ran
// for it belong to that moment.
class Stopwatch final : public Complaints {
 public:
  void handled(std::int64_t event) { open_.push_back(event); }  // by the relay's thread, as count() is

  void count(std::string_view metric, std::int64_t by) override {
    if (metric != "outbox_delivered_total") return;
    const std::int64_t now = now_ns();
    // A body may have run more than once; the last run is the one that counts.
    const std::size_t first =
        open_.size() > static_cast<std::size_t>(by) ? open_.size() - static_cast<std::size_t>(by) : 0;
    for (std::size_t i = first; i < open_.size(); ++i) stamps_.push_back({open_[i], now});
    open_.clear();
  }
  std::vector<std::int64_t> open_;
  std::vector<Stamp> stamps_;
};

void consume(const Role& role, skald::Env env, Stopwatch& watch) {
  const auto db = skald::open_postgres(env, {.url = role.url});
  skald::Engine engine(env, *db, {});
  engine.consume({"bench", kEventType, [&](skald::Transaction& tx, const skald::Message& message) {
                    const std::int64_t i = number_in(message.event.payload);
                    tx.enqueue("INSERT INTO bench_effect (event_id, i) VALUES ($1, $2)", message.event.id, i);
                    watch.handled(i);
                  }});
  say("ready");
  hear("go");
  engine.start();
  hear("stop");
  engine.stop(skald::Duration::zero());
  write_stamps(role.times, watch.stamps_);
}

skald::Event event_of(std::int64_t i) { return {.type = kEventType, .key = key_of(i), .payload = payload_of(i)}; }

void produce_from(const Role& role, skald::Database& db, std::int64_t first, std::int64_t begun,
                  std::vector<Stamp>& stamps) {
  const std::int64_t end = begun + static_cast<std::int64_t>(role.seconds * 1e9);
  for (std::int64_t i = first;; i += kProducers) {
    if (role.rate > 0) sleep_until_ns(begun + static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / role.rate));
    if (now_ns() >= end) return;
    db.write("reserve stock", [&](skald::Transaction& tx) {
      tx.enqueue("UPDATE bench_domain SET qty = qty - 1 WHERE id = $1", domain_row(i));
      tx.emit(event_of(i));
    });
    stamps.push_back({i, now_ns()});
  }
}

void produce(const Role& role, skald::Env env) {
  const auto db = skald::open_postgres(env, {.url = role.url, .connections = kProducers});
  skald::Engine engine(env, *db, {.works = false});
  engine.start();
  say("ready");
  hear("go");
  const std::int64_t begun = now_ns();
  std::vector<std::vector<Stamp>> stamps(kProducers);
  {
    std::vector<std::jthread> producers;
    for (std::size_t k = 0; k < kProducers; ++k)
      producers.emplace_back([&, k] { produce_from(role, *db, static_cast<std::int64_t>(k), begun, stamps[k]); });
  }
  std::vector<Stamp> all;
  for (const auto& some : stamps) all.insert(all.end(), some.begin(), some.end());
  write_stamps(role.times, all);
}

void preload(const Role& role, skald::Env env) {
  const auto db = skald::open_postgres(env, {.url = role.url});
  skald::Engine engine(env, *db, {.works = false});
  constexpr std::int64_t kInOneCommit = 1000;
  for (std::int64_t first = 0; first < role.count; first += kInOneCommit) {
    db->write("preload", [&](skald::Transaction& tx) {
      for (std::int64_t i = first; i < std::min(first + kInOneCommit, role.count); ++i) tx.emit(event_of(i));
    });
  }
}

}  // namespace

void say(const char* word) { std::cout << word << std::endl; }

void hear(const std::string& word) {
  std::string line;
  if (!std::getline(std::cin, line) || line != word) std::exit(1);
}

void Complaints::log(Level level, std::string_view message, std::string_view fields) {
  if (level < Level::warn) return;
  std::lock_guard lock(mutex_);
  if (shown_.contains(message)) return;
  shown_.emplace(message);
  std::cerr << message << " " << fields << std::endl;
}

int run_role(int argc, char** argv) {
  if (argc != 9) return 2;
  const Role role{argv[2], argv[3], argv[4], argv[5], std::atof(argv[6]), std::atof(argv[7]), std::atoll(argv[8])};
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  Stopwatch watch;
  const skald::Env env{*clock, *random, watch};
  if (role.kind == "sagas") run_sagas(role);
  else if (role.kind == "polling") run_polling(role);
  else if (role.kind == "consumer") consume(role, env, watch);
  else if (role.kind == "producer") produce(role, env);
  else preload(role, env);
  say("done");
  return 0;
}

}  // namespace bench
