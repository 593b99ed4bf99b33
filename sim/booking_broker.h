// A server between the services that acknowledges what it is given before it has synced it.
// Now and then it goes down, and what came since its last sync is gone; those who sent it find
// another run of the server, and must give it again. What it has it hands to its receiver, in
// order per key and until it is taken.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "sim/booking_network.h"
#include "sim/stage.h"

namespace skald::sim {

class BookingBroker {
 public:
  // Takes a message in at a service, for good or not at all.
  using Take = std::function<Outcome(std::string_view service, const Message& message)>;
  BookingBroker(Stage& stage, Take take);

  bool is_up() const { return stage_.now() >= up_at_; }
  // Another one after each time that it was down.
  int run() const { return run_; }

  // Of each partition the one that it took last from that sender, of those that it has not lost.
  std::map<int, std::string> last_of(std::string_view source) const;

  // What was sent to another run is lost. What it knows is not kept twice.
  Outcome keep(std::string_view to, const Message& message, int run);

  std::optional<Instant> next() const;
  void act_due();
  bool empty() const { return kept_.empty(); }

  void go_down(Duration time);
  void heal();

 private:
  struct Kept {
    std::string to;
    Message message;
    Instant at;  // not handed over before
  };
  std::optional<std::size_t> due() const;

  Stage& stage_;
  Take take_;
  int run_ = 1;
  Instant up_at_{};
  Instant sync_at_;
  std::deque<Kept> kept_;
  std::map<std::string, bool> known_;  // ids -> synced
  std::map<std::string, std::map<int, std::string>, std::less<>> last_, last_synced_;  // by sender and partition
};

}  // namespace skald::sim
