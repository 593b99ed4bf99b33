// Customers and donors who keep a number of orders and of donations under way: as soon as one
// has come to its end the next is sent. A request without an answer is sent again, to another server,
// with the same key.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "chaos/storm_site.h"

namespace skald::chaos {

class StormTraffic {
 public:
  // `live` of each kind.
  StormTraffic(const StormSite& site, std::size_t live);
  ~StormTraffic();

  // As it was counted last: while nobody answers, nobody works.
  Census census() const;
  // Nothing new is sent. What is under way is still sent until it is answered.
  void end();
  bool all_answered() const;

  std::set<std::string> orders() const;     // ids of acknowledged ones
  std::set<std::string> donations() const;  // requestIds
  std::size_t sent_again() const;
  // Answers that are neither success nor an outage.
  std::vector<std::string> refusals() const;

 private:
  enum Kind { order, donation };
  struct Flow {
    std::size_t live = 0;          // at the last count
    std::size_t since = 0;         // answered since that count began
    std::size_t asking = 0;        // requests without an answer
    std::set<std::string> acknowledged;
  };
  static constexpr int kCustomers = 12, kDonors = 12, kDonorsEach = 20;

  void count();                    // the thread that takes the census
  void send_all(Kind kind, int sender);
  bool wait_for_room(Kind kind);   // false: the end
  void answered(Kind kind, const std::string& id);
  bool rest(std::chrono::milliseconds time) const;  // false: everything is answered, or broken off
  // The body of a final answer; none where it is broken off.
  std::optional<std::string> insist(const std::string& target, const std::string& body,
                                    const std::vector<std::string>& headers, std::size_t worker);

  const StormSite& site_;
  const std::size_t live_;
  mutable std::mutex mutex_;       // guards what follows
  mutable std::condition_variable changed_;
  std::array<Flow, 2> flows_;
  bool ending_ = false, broken_off_ = false;
  std::size_t sent_again_ = 0;
  std::vector<std::string> refusals_;
  std::vector<std::thread> threads_;
};

}  // namespace skald::chaos
