// The order service with a sandbox provider of its own, for tests: real threads, real
// HTTP between them, a database of either kind.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/router.h"
#include "http/server.h"
#include "order/order.h"
#include "order/views.h"
#include "runtime/worker_pool.h"
#include "support/http_receiver.h"
#include "support/test_database.h"

namespace skald::test {

class CountedMetrics final : public Observer {
 public:
  void count(std::string_view metric, std::int64_t by = 1) override;
  void gauge(std::string_view metric, double value) override;
  std::int64_t of(const std::string& metric) const;
  std::optional<double> last(const std::string& metric) const;  // of a gauge
  void log(Level level, std::string_view message, std::string_view fields = {}) override;
  struct Line {
    Level level;
    std::string message;
    boost::json::object fields;
  };
  std::vector<Line> lines() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
  std::map<std::string, double> gauges_;
  std::vector<Line> lines_;
};

// Waits without sleeping through a test's time: a few milliseconds at a time.
void rest(Duration time);

// What a provider answers to a charge or a refund instead of what it has to say.
struct WrongAnswer {
  int status = 200;  // 0: what it has to say
  std::string body = {};
  bool takes_effect = true;
  std::shared_ptr<Gate> gate = {};  // waited for before anything happens
};

class SandboxProvider {
 public:
  explicit SandboxProvider(Env env);
  ~SandboxProvider();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  Response call(const std::string& method, const std::string& path, const std::string& body = "") const;
  // Charges and refunds that really happened, in money.
  std::int64_t charged() const { return sum("CHARGED") + sum("REFUNDED"); }
  std::int64_t refunded() const { return sum("REFUNDED"); }
  std::int64_t charges() const;
  // To the next such requests, one each.
  void answer_wrongly(WrongAnswer answer);
  bool has_answered_wrongly() const;  // as often as it was told to
  // From now on charges and refunds wait, unanswered and without effect, until they are let go.
  void hold_back();
  void let_go();

 private:
  class Tampering;
  std::int64_t sum(const std::string& status) const;
  std::optional<WrongAnswer> next_wrong_answer();
  std::shared_ptr<Gate> held() const;

  mutable std::mutex mutex_;
  std::deque<WrongAnswer> wrong_;
  std::shared_ptr<Gate> held_;

  std::unique_ptr<TestDatabase> db_;
  http::Routes routes_;
  http::Publisher publisher_;
  std::unique_ptr<runtime::WorkerPool> handlers_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<runtime::WorkerPool> network_;
};

class OrderTest : public testing::TestWithParam<Dialect> {
 protected:
  struct Options {
    bool record_history = false;  // expect_invariants() has the checker look at it, too
    std::string provider = {};    // its URL; empty: the sandbox
    Duration call_timeout = 10s;  // for a provider that answers when the test lets it
    Duration deadline = 60s;
  };
  explicit OrderTest(Options options);
  OrderTest() : OrderTest(Options{}) {}
  ~OrderTest() override;

  Response call(const std::string& method, const std::string& path, const std::string& body = "",
                std::map<std::string, std::string, std::less<>> headers = {});
  void offer(const std::string& sku, std::int64_t stock, std::int64_t price = 100);
  // Places an order of one product; `more` are further members of the body.
  order::OrderView place(const std::string& sku, std::int64_t quantity, const std::string& more = "");
  order::OrderView placed(const std::string& body);
  order::OrderView show(const std::string& id);
  order::OrderView ended(const std::string& id);   // waits until it is no longer PENDING
  order::OrderView becomes(const std::string& id, order::Status status);
  order::ProductView product(const std::string& sku);
  void provider(const std::string& change);        // PUT /order/provider
  void expect_invariants();
  // What the checker finds in what sagas did so far.
  std::string anomalies();
  std::int64_t rows(const std::string& sql);
  // Until `ready` says so; fails after `patience`.
  void until(const std::function<bool()>& ready, const std::string& what, Duration patience = 30s);
  SagaView saga(const std::string& id);
  // Another process on the same data, after this one is gone.
  void restart_engine();

  CountedMetrics metrics_;
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, metrics_};
  SandboxProvider sandbox_{env_};
  std::unique_ptr<TestDatabase> db_ = TestDatabase::of(GetParam(), env_);
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<http::Routes> routes_;

 private:
  void open();

  const Options options_;
};

std::string database_name(const testing::TestParamInfo<Dialect>& info);
std::string code_of(const Response& response);
// Why it failed; where it did not, its status.
std::string reason_of(const order::OrderView& order);

}  // namespace skald::test
