// Believable traffic for the booking system: customers who book, think better of it, ask
// for what cannot be, and crowd around one popular time. Open loop: each request is sent
// when it is due, however long the ones before it take, and its time counts from then.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cli/api.h"
#include "skald/env.h"

namespace skald::host {

struct DemoFigures {
  std::int64_t sent = 0, confirmed = 0, cancelled = 0, pending = 0;
  std::map<std::string, std::int64_t> refused;  // by code
  std::vector<Duration> waits;                  // from when a booking was due to when it was confirmed
  Duration latest{};                            // that a request was sent behind its time
};

class DemoTraffic {
 public:
  // Opens a course and its first times. `api` may be called from many threads.
  DemoTraffic(Env env, cli::Api api);

  // One customer's doing, due at `due`. Thread safe; what goes wrong is counted.
  void act(Time due);
  DemoFigures figures() const;

 private:
  void book(Time due);
  void cancel();
  void ask_for_too_much();
  void follow(const std::string& id, Time due);
  std::string open_slot(std::int64_t players);
  Response call(const std::string& method, const std::string& path, const std::string& body = "") const;
  std::uint64_t chance(std::uint64_t of) const { return env_.random.next() % of; }
  void count_refusal(const Response& response);

  Env env_;
  cli::Api api_;
  std::string course_, popular_;
  mutable std::mutex mutex_;  // guards what follows
  std::string open_;          // where there is room
  std::vector<std::string> bookings_;
  DemoFigures figures_;
};

}  // namespace skald::host
