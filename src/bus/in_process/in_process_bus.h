// A bus inside of one process: subscribers are functions.
//
//   InProcessBus bus;
//   bus.subscribe("donation.*", [&](const Message& message) { ...; return Outcome::ok(); });
//
// Not thread safe, like every Bus. Subscribers run inside of poll(), on its
// thread, one event after the other in the order of send(). An event that nobody
// subscribed to counts as delivered.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/bus.h"

namespace skald {

class InProcessBus final : public Bus {
 public:
  using Subscriber = std::function<Outcome(const Message&)>;

  // One poll() hands out at most this many, so that a caller with a deadline
  // (a heartbeat) comes back to its loop.
  static constexpr std::size_t kPerPoll = 256;

  // What is still under way at destruction is dropped, its `done` never called:
  // the outbox finds it pending.
  ~InProcessBus() override = default;

  // `pattern` is an exact type, a prefix ("donation.*") or "*". Throws Invalid
  // (BAD_PATTERN) for a star elsewhere. Every subscriber that matches is called;
  // one that asks for a retry makes all of them see the event again (their inbox
  // dedupes it), and a retry outweighs a refusal. What a subscriber throws is an
  // outcome: see bus/failure.h. A subscriber may send() but not subscribe().
  void subscribe(std::string pattern, Subscriber subscriber);

  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake = {}) override;
  std::size_t in_flight() const override { return queue_.size(); }

 private:
  struct Subscription {
    std::string prefix;
    bool exact;
    Subscriber subscriber;
    bool matches(std::string_view type) const { return exact ? type == prefix : type.starts_with(prefix); }
  };
  struct Queued {
    Message message;
    Done done;
  };

  Outcome deliver(const Message& message) const;

  std::vector<Subscription> subscriptions_;
  std::deque<Queued> queue_;
};

}  // namespace skald
