// Three processes of the order service on a PostgreSQL whose standby is promoted under orders: whatever was
// acknowledged comes to one end, nothing is charged twice, and the workers share the work again.
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

#include "crash/scene.h"
#include "support/replicated_postgres.h"

namespace skald::test {
namespace {

using Server = ReplicatedPostgres::Server;

// Each places orders one after the other, and asks another process with the same key where it is not answered.
class Customers {
 public:
  Customers(std::vector<std::unique_ptr<crash::ServedProcess>>& processes, int count) : processes_(processes) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { shop(i); });
  }
  ~Customers() { stop(); }

  // Returns when that many more are acknowledged.
  void await_orders(std::size_t more) {
    std::unique_lock lock(mutex_);
    const std::size_t wanted = orders_.size() + more;
    changed_.wait(lock, [&] { return orders_.size() >= wanted; });
  }
  std::set<std::string> stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
    return orders_;
  }

 private:
  void shop(int customer) {
    for (int number = 0;; ++number) {
      const std::string key = "Idempotency-Key: " + std::to_string(customer) + "-" + std::to_string(number);
      const std::string id = place(key, static_cast<std::size_t>(customer + number));
      const std::lock_guard lock(mutex_);
      EXPECT_TRUE(id.empty() || orders_.insert(id).second) << id << " was acknowledged for two keys";
      changed_.notify_all();
      if (stopping_) return;
    }
  }
  // Its id; nothing where the customers are told to stop before.
  std::string place(const std::string& key, std::size_t process) {
    for (;; ++process) {
      const auto answer = processes_[process % processes_.size()]->ask("POST", "/order/orders",
                                                                       R"({"sku":"lamp","quantity":1})", {key}, 5);
      if (answer && answer->status == 202) return from_json<order::OrderView>(answer->body).id;
      crash::rest(20ms);
      const std::lock_guard lock(mutex_);
      if (stopping_) return {};
    }
  }

  std::vector<std::unique_ptr<crash::ServedProcess>>& processes_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::set<std::string> orders_;
  std::vector<std::thread> threads_;
};

class OrderFailover : public testing::Test {
 protected:
  OrderFailover() {
    for (int place = 0; place < 3; ++place) processes_.push_back(scene_.start({}, place));
    crash::offer(*processes_[0], "lamp", 1'000'000);
    scene_.behave({.latency_ms = 20});
  }

  void promote() {
    servers_.promote();
    db_ = open_postgres({*clock_, *random_, silent_observer()}, {.url = servers_.second_url(), .connections = 1});
  }
  std::int64_t number(std::string_view sql) { return db_->query_alone(sql).get<std::int64_t>(0, 0); }

  void expect_all_came_to_one_end(const std::set<std::string>& orders) {
    ASSERT_TRUE(crash::until([&] { return number("SELECT count(*) FROM skald_saga WHERE live = 1") == 0; }, 90s))
        << number("SELECT count(*) FROM skald_saga WHERE live = 1") << " sagas have not ended";
    for (const std::string& id : orders) {
      const auto order = crash::order_at(*processes_[0], id);
      ASSERT_TRUE(order) << id << " was acknowledged and is gone";
      EXPECT_EQ(order->status, order::Status::CONFIRMED) << id;
    }
    EXPECT_EQ(crash::what_is_wrong(*processes_[0]), std::vector<std::string>());
    EXPECT_EQ(crash::anomalies(*processes_[0]), std::vector<std::string>());
  }
  void expect_work_is_shared() {
    const char* owned =
        "SELECT count(*) FROM skald_partition p JOIN skald_worker w ON w.id = p.owner JOIN (SELECT count(DISTINCT pid) "
        "pids, count(*) workers FROM skald_worker) s ON s.pids = 3 AND s.workers = 3";
    EXPECT_TRUE(crash::until([&] { return number(owned) == kPartitions; }, 60s))
        << "each of three workers has one row, and each partition one of them";
  }

  ReplicatedPostgres servers_{ReplicatedPostgres::Commits::synchronous};
  crash::Scene scene_{servers_.url(), crash::Pace{}};
  std::vector<std::unique_ptr<crash::ServedProcess>> processes_;
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  std::unique_ptr<Database> db_;  // the new primary
};

TEST_F(OrderFailover, OrdersGoOnWhereThePrimaryDies) {
  Customers customers(processes_, 6);
  customers.await_orders(100);
  servers_.kill(Server::first);
  promote();
  customers.await_orders(100);
  expect_all_came_to_one_end(customers.stop());
  expect_work_is_shared();
}

TEST_F(OrderFailover, OrdersGoOnWhereThePrimaryStopsAndComesBack) {
  Customers customers(processes_, 6);
  customers.await_orders(100);
  servers_.freeze(Server::first);
  promote();
  customers.await_orders(50);
  servers_.wake(Server::first);
  customers.await_orders(50);
  expect_all_came_to_one_end(customers.stop());
  expect_work_is_shared();
}

}  // namespace
}  // namespace skald::test
