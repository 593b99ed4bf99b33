// A bus inside of one process: subscribers are functions.
//
//   InProcessBus bus;
//   bus.subscribe("slot.*", [&](std::span<const Message> events) { course.land(events); return Outcome::ok(); });
//
// Not thread safe, like every Bus. Subscribers run inside of poll(), on its
// thread, and get the events in the order of send(), as many together as there are; behind
// one that is not delivered, those of its key are cut off. An event that nobody subscribed
// to counts as delivered.
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
  // Where several events do not go well together, each is handed over again alone: one
  // bad event harms none but those that must come after it.
  using Subscriber = std::function<Outcome(std::span<const Message>)>;

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
  std::size_t in_flight() const override { return queue_.size() + ended_.size(); }
  bool keeps_order() const override { return true; }
  bool delivers_here() const override { return true; }

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
  struct Ended {
    Done done;
    Outcome outcome;
  };

  void deliver(std::span<const Message> messages, std::span<Outcome> outcomes) const;
  void end(std::vector<Message> messages, std::vector<Done> callers, std::vector<Outcome> outcomes);

  std::vector<Subscription> subscriptions_;
  std::deque<Queued> queue_;
  std::deque<Ended> ended_;  // to be told
};

}  // namespace skald
