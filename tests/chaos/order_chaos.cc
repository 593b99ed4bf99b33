// Three workers of the order service on one PostgreSQL, with a provider that misbehaves,
// under steady orders and cancellations, while random ones are killed with SIGKILL and
// some are frozen with SIGSTOP inside of a transaction. Afterwards everything has come to
// an end, the invariants hold, nothing is locked, reserved or charged twice, and the checker
// finds nothing in the recorded history.
#include "chaos/order_chaos.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "chaos/order_skus.h"
#include "chaos/order_traffic.h"
#include "skald/http.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kWorkers = 3;
constexpr double kTakenOverWithin = 10;
constexpr int kHandOvers = 20;

class Storm {
 public:
  explicit Storm(const Options& options) : options_(options), random_(options.seed) {
    for (const char* sku : kSkus) crash::offer(workers_.at(0), sku, 1'000'000);
    workers_.at(0).send("PUT", "/order/provider", R"({"permits":64})", 200);
  }

  int run() {
    rage();
    settle();
    for (const std::string& wrong : crash::what_is_wrong(workers_.at(0))) fault(wrong);
    for (const std::string& anomaly : crash::anomalies(workers_.at(0))) fault(anomaly);
    report_times("killed", workers_.after_death());
    report_times("frozen inside of a transaction", workers_.after_freeze());
    if (frozen_ < options_.freezes) fault("no worker could be frozen inside of a transaction");
    measure_hand_over();
    std::printf("%s\n", faults_ == 0 ? "everything ended, nothing charged twice, nothing left behind" : "FAILED");
    return faults_ == 0 ? 0 : 1;
  }

 private:
  void fault(const std::string& what) {
    if (++faults_ <= 20) std::printf("FAULT: %s\n", what.c_str());
  }

  void rage() {
    workers_.scene().behave({.latency_ms = 20,
                             .error_rate = 0.05,
                             .decline_rate = 0.05,
                             .charge_then_timeout_rate = 0.05,
                             .duplicate_rate = 0.05,
                             .timeout_ms = 1500});
    OrderTraffic traffic(workers_, options_.rate);
    const auto begun = steady_clock::now();
    double next = 1;
    while (seconds_since(begun) < options_.seconds) {
      workers_.watcher().pause(100);
      workers_.look();
      if (seconds_since(begun) < next) continue;
      strike();
      next = seconds_since(begun) + 0.5 + static_cast<double>(random_() % 1500) / 1000;
    }
    while (!workers_.all_taken_over() && seconds_since(begun) < options_.seconds + 2 * kTakenOverWithin) {
      workers_.watcher().pause(100);
      workers_.look();
    }
    if (!workers_.all_taken_over()) fault("a worker that is gone was never taken over");
    traffic.stop();
    std::printf("%zu orders and %lld cancellations answered in %.0f s, %lld asked again; %d kills, %d freezes\n",
                traffic.orders().size(), static_cast<long long>(traffic.cancels()), seconds_since(begun),
                static_cast<long long>(traffic.asked_again()), kills_, frozen_);
    orders_ = traffic.orders();
  }

  void strike() {
    const std::size_t worker = random_() % kWorkers;
    if (frozen_ < options_.freezes && random_() % 2 == 0) {
      for (int tries = 0; tries < 40; ++tries)
        if (workers_.freeze(worker)) {
          ++frozen_;
          return;
        }
    }
    workers_.kill(worker);
    ++kills_;
  }

  // By themselves: what dies here is no saga's fault.
  void settle() {
    workers_.scene().behave({});
    const auto begun = steady_clock::now();
    while (live() > 0 && seconds_since(begun) < 90) workers_.watcher().pause(100);
    if (live() > 0) fault(std::to_string(live()) + " sagas have not ended");
    std::printf("all sagas ended %.1f s later\n", seconds_since(begun));
    for (const std::string& id : orders_) {
      const auto order = crash::order_at(workers_.at(0), id);
      if (!order || order->status == order::Status::PENDING) fault("order " + id + " was acknowledged and has no end");
    }
  }

  std::int64_t live() { return workers_.watcher().number("SELECT COUNT(*) FROM skald_saga WHERE live = 1"); }

  void report_times(const char* what, std::vector<double> times) {
    if (times.empty()) return;
    std::ranges::sort(times);
    std::printf("workers that were %s: %zu taken over after %.1f s in the middle, %.1f s at most\n", what, times.size(),
                times[times.size() / 2], times.back());
    if (times.back() > kTakenOverWithin) fault("a worker was not taken over within 10 s");
  }

  // How long an order that waits for a product's exclusive lock, at another worker, stands
  // after the release.
  void measure_hand_over() {
    workers_.scene().behave({.latency_ms = 30});
    std::vector<double> milliseconds;
    for (int i = 0; i < kHandOvers; ++i) {
      const auto holder = place_alone(0), waiter = place_alone(1);
      const auto ended = saga_of(holder, 0), followed = saga_of(waiter, 1);
      for (const StepView& step : followed.steps)
        if (step.name == "reserve stock" && step.status == "DONE")
          milliseconds.push_back(
              std::chrono::duration<double, std::milli>(step.started_at - *ended.finished_at).count());
    }
    std::ranges::sort(milliseconds);
    if (milliseconds.size() < kHandOvers) return fault("a waiting order did not go on");
    std::printf("a saga that waits for a lock goes on %.1f ms after its release in the middle, %.1f ms at most\n",
                milliseconds[milliseconds.size() / 2], milliseconds.back());
  }
  order::OrderView place_alone(std::size_t worker) {
    const auto answer =
        workers_.at(worker).ask("POST", "/order/orders", R"({"sku":"lamp","quantity":1,"lock":"exclusive"})");
    return answer ? from_json<order::OrderView>(answer->body) : order::OrderView{};
  }
  SagaView saga_of(const order::OrderView& order, std::size_t worker) {
    SagaView view;
    crash::until([&] {
      view = workers_.at(worker).get_as<OfService<SagaView>>("/api/sagas/" + order.saga_id);
      return view.finished_at.has_value();
    });
    return view;
  }

  const Options options_;
  std::mt19937 random_;
  OrderWorkers workers_{kWorkers};
  std::vector<std::string> orders_;
  int kills_ = 0, frozen_ = 0, faults_ = 0;
};

}  // namespace

int run_orders(const Options& options) { return Storm(options).run(); }

}  // namespace skald::chaos
