// Donors who give one after the other, at a steady rate in all. A donation that
// was not answered is sent again, to another server, with the same requestId: so
// each donor's donations commit in the order of their numbers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "chaos/site.h"

namespace skald::chaos {

class Traffic {
 public:
  Traffic(Site& site, int per_second);
  ~Traffic();

  void stop();                                  // after the donations under way are answered
  std::set<std::string> acknowledged() const;   // requestIds, after stop()
  std::int64_t resent() const { return resent_; }

 private:
  static constexpr int kThreads = 16, kDonorsEach = 4;

  void give(int thread, std::chrono::microseconds pause);
  bool pause_until(std::chrono::steady_clock::time_point time);
  bool donate(std::size_t server, const std::string& body);

  Site& site_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::atomic<std::int64_t> resent_{0};
  std::vector<std::vector<std::string>> acknowledged_;
  std::vector<std::thread> threads_;
};

}  // namespace skald::chaos
