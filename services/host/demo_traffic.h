// Believable traffic for the booking system: customers who book, think better of it, ask
// for what cannot be, and crowd around one popular time. Open loop: each request is sent
// when it is due, however long the ones before it take, and its time counts from then.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/api.h"
#include "skald/env.h"

namespace skald::host {

struct DemoOptions {
  // Nobody cancels or asks for what cannot be, and there are times enough for so many bookings:
  // what the system bears, rather than what people do.
  std::optional<std::int64_t> only_bookings;
  // Of so many bookings one is followed to its end by its event stream, which costs the
  // system about as much as the booking itself.
  std::int64_t follow_one_in = 1;
};

struct DemoFigures {
  std::int64_t sent = 0, booked = 0, cancelled = 0;
  std::int64_t confirmed = 0, pending = 0;      // of those that are followed
  std::map<std::string, std::int64_t> refused;  // by code
  std::vector<Duration> waits;                  // from when a booking was due to when its customer saw it confirmed
  std::vector<Duration> late;                   // that each request was sent behind its time
};

class DemoTraffic {
 public:
  // Runs a job that waits for long, on a thread other than the one that posts it.
  using Post = std::function<void(std::function<void()>)>;

  // Opens a course and its first times. `follow` outlives this.
  DemoTraffic(Env env, const cli::Remote& server, DemoOptions options, Post follow);

  // One customer's doing, due at `due`. Thread safe; what goes wrong is counted.
  void act(Time due);
  DemoFigures figures() const;

 private:
  void book(Time due);
  void cancel();
  void ask_for_too_much();
  void follow(const std::string& id, Time due);
  void await_end(const std::string& id, Time due);
  // When it was seen that it is confirmed; nothing where the stream has ended without.
  std::optional<Time> see_confirmed(const std::string& id) const;
  std::string open_slot(std::int64_t players);
  Response call(const std::string& method, const std::string& path, const std::string& body = "") const;
  std::uint64_t chance(std::uint64_t of) const { return env_.random.next() % of; }
  void count_refusal(const Response& response);

  Env env_;
  cli::Remote server_;
  cli::Api api_;
  DemoOptions options_;
  Post post_;
  std::string course_, popular_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::string> open_;  // where there is room
  std::size_t next_ = 0;           // of those
  std::vector<std::string> bookings_;
  DemoFigures figures_;
};

}  // namespace skald::host
