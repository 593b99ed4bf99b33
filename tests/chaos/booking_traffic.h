// Customers who book and cancel through the gateway, open loop: each request is due at its
// time, and what could not be sent then is sent as soon as it can be. What is not answered
// is asked again with the same key, until it is: each must come to one end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "end_to_end/skald_process.h"

namespace skald::chaos {

class BookingTraffic {
 public:
  // Opens enough times for that many seconds of it.
  BookingTraffic(std::uint16_t gateway, int per_second, int seconds);
  ~BookingTraffic();

  void start();
  void stop();  // after all that was due is answered
  std::int64_t sent() const { return next_; }
  // For an answer, in seconds, since this was last asked: requests that wait still count as well.
  double take_longest_wait();

  // After stop().
  const std::vector<std::string>& bookings() const { return bookings_; }      // acknowledged
  const std::map<std::string, std::int64_t>& refused() const { return refused_; }  // by code
  std::int64_t cancels() const { return cancels_; }
  std::int64_t asked_again() const { return asked_again_; }

 private:
  static constexpr int kThreads = 64, kRoom = 100, kPopular = 20, kPopularRoom = 4;

  void shop(int thread);
  void book(std::int64_t number, std::mt19937& random);
  void cancel(std::int64_t number, std::mt19937& random);
  void open_slots(int count);
  std::string open_slot(const std::string& course, int players, int number);
  // Until it is answered with something final.
  test::HttpAnswer insist(const std::string& target, const std::string& body, const std::string& key);
  bool pause_until(std::chrono::steady_clock::time_point time);

  const std::uint16_t gateway_;
  const int per_second_;
  std::vector<std::string> slots_, popular_;
  std::chrono::steady_clock::time_point begun_;
  std::atomic<std::int64_t> next_{0}, cancels_{0}, asked_again_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::vector<std::string> bookings_;
  std::map<std::string, std::int64_t> refused_;
  double longest_wait_ = 0;
  std::array<std::optional<std::chrono::steady_clock::time_point>, kThreads> waiting_since_;  // what each thread asks
  std::vector<std::thread> threads_;
};

}  // namespace skald::chaos
