// Customers who order and cancel at a steady rate in all. What is not answered is asked
// again at another worker, an order with the same key: each must come to one end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "chaos/order_workers.h"

namespace skald::chaos {

class OrderTraffic {
 public:
  OrderTraffic(OrderWorkers& workers, int per_second);
  ~OrderTraffic();

  void stop();                                      // after what is under way is answered
  const std::vector<std::string>& orders() const { return orders_; }  // acknowledged ones, after stop()
  std::int64_t cancels() const { return cancels_; }
  std::int64_t asked_again() const { return asked_again_; }

 private:
  static constexpr int kCustomers = 8;

  void shop(int customer, std::chrono::microseconds pause);
  bool pause_until(std::chrono::steady_clock::time_point time);
  // Until a worker has answered with something final.
  test::HttpAnswer insist(const std::string& target, const std::string& body, const std::vector<std::string>& headers,
                          std::size_t worker);

  OrderWorkers& workers_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::vector<std::string> orders_;
  std::atomic<std::int64_t> cancels_{0}, asked_again_{0};
  std::vector<std::thread> threads_;
};

}  // namespace skald::chaos
