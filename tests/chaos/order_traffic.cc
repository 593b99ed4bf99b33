#include "chaos/order_traffic.h"

#include <random>

#include "chaos/order_skus.h"

namespace skald::chaos {
namespace {

std::string pick(std::mt19937& random, std::initializer_list<const char*> texts) {
  return texts.begin()[random() % texts.size()];
}

std::string order_body(std::mt19937& random) {
  const std::string first = kSkus[random() % kSkus.size()], second = kSkus[random() % kSkus.size()];
  return R"({"items":[{"sku":")" + first + R"(","quantity":)" + std::to_string(1 + random() % 3) + R"(},{"sku":")" +
         second + R"(","quantity":1}],"lock":")" + pick(random, {"none", "none", "none", "exclusive"}) +
         R"(","whenBusy":")" + pick(random, {"wait", "wait", "retry"}) + R"("})";
}

}  // namespace

OrderTraffic::OrderTraffic(OrderWorkers& workers, int per_second) : workers_(workers) {
  const std::chrono::microseconds pause(1'000'000 * kCustomers / per_second);
  for (int i = 0; i < kCustomers; ++i) threads_.emplace_back([this, i, pause] { shop(i, pause); });
}

OrderTraffic::~OrderTraffic() { stop(); }

void OrderTraffic::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

bool OrderTraffic::pause_until(std::chrono::steady_clock::time_point time) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_until(lock, time, [&] { return stopping_; });
}

void OrderTraffic::shop(int customer, std::chrono::microseconds pause) {
  std::mt19937 random(static_cast<unsigned>(customer));
  std::vector<std::string> placed;
  auto next = std::chrono::steady_clock::now();
  for (int number = 0; pause_until(next); ++number, next += pause) {
    const std::size_t worker = random() % workers_.size();
    if (!placed.empty() && random() % 4 == 0) {
      insist("/order/orders/" + placed[random() % placed.size()] + "/cancel", "", {}, worker);
      ++cancels_;
      continue;
    }
    const std::string key = "Idempotency-Key: " + std::to_string(customer) + "-" + std::to_string(number);
    const auto answer = insist("/order/orders", order_body(random), {key}, worker);
    placed.push_back(from_json<order::OrderView>(answer.body).id);
  }
  const std::lock_guard lock(mutex_);
  orders_.insert(orders_.end(), placed.begin(), placed.end());
}

test::HttpAnswer OrderTraffic::insist(const std::string& target, const std::string& body,
                                      const std::vector<std::string>& headers, std::size_t worker) {
  for (;; worker = (worker + 1) % workers_.size(), ++asked_again_) {
    try {
      const auto answer = test::http_request(workers_.port(worker), "POST", target, body, headers, 2);
      // 409: not cancellable, or just now in other hands.
      if (answer.status == 202 || (answer.status == 409 && target.ends_with("/cancel"))) return answer;
    } catch (const std::runtime_error&) {
      // killed, or frozen: the next one
    }
  }
}

}  // namespace skald::chaos
