// The order sagas of Skald and by hand, in a process of their own. NAME is
//   skald:fused:CONNECTIONS | skald:committed:… | skald:shared:… | skald:exclusive:… | skald:sleepers:…
//   hand:steps:CONNECTIONS | hand:fused:… | hand:pipelined:… | hand:batched:STEPS
// RATE is how many are in flight at once, COUNT of skald:fused the number of the first order; URL is PostgreSQL's or a
// file of SQLite.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "closed_loop.h"
#include "roles.h"
#include "saga_hand.h"
#include "saga_order.h"
#include "skald/engine.h"

namespace bench {
namespace {

struct Name {
  std::string family, shape;
  int number = 0;
};

Name parse(const std::string& text) {
  const auto first = text.find(':'), second = text.find(':', first + 1);
  return {text.substr(0, first), text.substr(first + 1, second - first - 1), std::stoi(text.substr(second + 1))};
}

std::unique_ptr<skald::Database> open(skald::Env env, const std::string& url, int connections) {
  if (url.starts_with("postgres")) return skald::open_postgres(env, {.url = url, .connections = connections});
  auto db = skald::open_sqlite(env, {.path = url});
  db->migrate("bench", {&kOrderMigration, 1});
  return db;
}

// Of the sleepers that are woken in a run: spread over two seconds of its middle.
constexpr std::int64_t kFirstSleep = 2'500'000, kNextSleep = 100'000;

// What an engine is handed, with its observer.
struct Surroundings {
  std::unique_ptr<skald::Clock> clock = skald::system_clock();
  std::unique_ptr<skald::Random> random = skald::system_random();
  skald::Env with(skald::Observer& observer) const { return {*clock, *random, observer}; }
};

// Lets so many sagas be in flight, wherever they are run to their end.
class Flight final : public Complaints {
 public:
  explicit Flight(int limit) : room_(limit) {}

  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return room_ > 0; });
    --room_;
  }
  void count(std::string_view metric, std::int64_t) override {
    if (metric != "sagas_completed_total" && metric != "sagas_compensated_total") return;
    std::lock_guard lock(mutex_);
    ++room_;
    const std::int64_t at = now_ns();
    ended_.push_back({at, at});  // which one it is, and so when it began, is not told here
    changed_.notify_one();
  }
  std::vector<Stamp> ended() {
    std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int room_;
  std::vector<Stamp> ended_;
};

std::vector<Stamp> run_orders(const Role& role, const Name& name, const Surroundings& surroundings) {
  Complaints complaints;
  const skald::Env env = surroundings.with(complaints);
  const auto db = open(env, role.url, name.number);
  skald::Engine engine(env, *db, {});
  const auto saga = order_saga(name.shape == "committed" ? Commits::every_step : Commits::once);
  engine.sagas().add(saga);
  engine.start();
  say("ready");
  hear("go");
  return closed_loop(static_cast<int>(role.rate), role.seconds, [&](int, std::int64_t n) {
    if (!skald::has_ended(engine.sagas().run(saga, order_of(role.count + n)).status))
      throw std::runtime_error("a saga was not run to its end");
  });
}

// Whoever finds the product locked is woken later, by another thread.
std::vector<Stamp> run_hot_orders(const Role& role, const Name& name, const Surroundings& surroundings) {
  Flight flight(static_cast<int>(role.rate));
  const skald::Env env = surroundings.with(flight);
  const auto db = open(env, role.url, name.number);
  skald::Engine engine(env, *db, {});
  const auto saga = hot_order_saga(name.shape == "shared" ? skald::shared : skald::exclusive);
  engine.sagas().add(saga);
  engine.start();
  say("ready");
  hear("go");
  closed_loop(static_cast<int>(role.rate), role.seconds, [&](int, std::int64_t n) {
    flight.enter();
    engine.sagas().run(saga, PlaceOrder{n, 0, false});
  });
  return flight.ended();
}

// Orders beside the sleepers that are there, and how late those are whose time comes:
// some more, each due a bit later than the one before.
std::vector<Stamp> run_beside_sleepers(const Role& role, const Name& name, const Surroundings& surroundings) {
  Complaints complaints;
  const skald::Env env = surroundings.with(complaints);
  std::mutex mutex;
  std::vector<Stamp> woken;
  const auto db = open(env, role.url, name.number);
  skald::Engine engine(env, *db, {});
  const auto saga = order_saga(Commits::once);
  engine.sagas().add(saga);
  const auto sleepers = sleeper_saga([&](const Sleeper& sleeper) {
    std::lock_guard lock(mutex);
    woken.push_back({sleeper.due * 1000, skald::to_micros(env.clock.now()) * 1000});
  });
  engine.sagas().add(sleepers);
  engine.start();
  say("ready");
  hear("go");
  for (int i = 0; i < kSleepersWoken; ++i)
    engine.sagas().start(sleepers, Sleeper{.sleep = kFirstSleep + i * kNextSleep, .due = 0});
  std::vector<Stamp> orders;
  if (role.rate > 0) {
    orders = closed_loop(static_cast<int>(role.rate), role.seconds,
                         [&](int, std::int64_t n) { engine.sagas().run(saga, order_of(n)); });
  } else {
    sleep_for_seconds(role.seconds);
  }
  engine.stop(skald::Duration::zero());
  write_stamps(role.times + ".woken", woken);
  return orders;
}

std::vector<Stamp> run_by_hand(const Role& role, const Name& name) {
  if (name.shape == "batched") {
    SqliteOrders orders(role.url, name.number);
    say("ready");
    hear("go");
    return closed_loop(1, role.seconds, [&](int, std::int64_t n) { orders.by_steps(n); });
  }
  PostgresOrders::create_tables(role.url);
  std::vector<std::unique_ptr<PostgresOrders>> hands;
  for (int k = 0; k < name.number; ++k)
    hands.push_back(std::make_unique<PostgresOrders>(role.url, name.shape == "pipelined"));
  say("ready");
  hear("go");
  // One connection is one saga at a time, so more in flight than that would only wait.
  const int threads = std::min(name.number, static_cast<int>(role.rate));
  return closed_loop(threads, role.seconds, [&](int thread, std::int64_t n) {
    PostgresOrders& orders = *hands[static_cast<std::size_t>(thread)];
    if (name.shape == "steps") orders.by_steps(n);
    else orders.fused(n);
  });
}

}  // namespace

void run_sagas(const Role& role) {
  const Name name = parse(role.name);
  const Surroundings surroundings;
  std::vector<Stamp> ended;
  if (name.family == "hand") ended = run_by_hand(role, name);
  else if (name.shape == "sleepers") ended = run_beside_sleepers(role, name, surroundings);
  else if (name.shape == "shared" || name.shape == "exclusive") ended = run_hot_orders(role, name, surroundings);
  else ended = run_orders(role, name, surroundings);
  write_stamps(role.times, ended);
}

}  // namespace bench
