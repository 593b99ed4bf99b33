// The network between the services of the booking system: it loses, doubles, delays and
// reorders, its links go down for minutes, and an answer may be lost after the receiver
// had the message. What arrives is landed in the receiver's database, if it is there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/stage.h"
#include "skald/bus.h"

namespace skald::sim {

class BookingNetwork {
 public:
  // Takes a message in at a service, for good or not at all.
  using Take = std::function<Outcome(std::string_view service, const Message& message)>;
  BookingNetwork(Stage& stage, Take take) : stage_(stage), take_(std::move(take)) {}

  // What the receiver said, and when that reaches the sender.
  struct Reply {
    std::optional<Outcome> outcome;
    Instant at{};
  };
  struct Arrival {
    Instant at;
    std::string to;
    Message message;
    std::shared_ptr<Reply> reply;    // null: nobody hears of it
  };
  void carry(Arrival arrival);
  std::optional<Instant> next() const;
  void deliver_due();
  bool empty() const { return on_the_way_.empty(); }

  // Messages to and from that service are lost for a while.
  void cut_off(std::string_view service, Duration time) { cut_until_[std::string(service)] = stage_.now() + time; }
  bool is_cut_off(std::string_view service) const;
  void heal() { cut_until_.clear(); }

  // The ids that releases of a booking were sent under.
  const std::map<std::string, std::set<std::string>>& releases() const { return releases_; }

 private:
  Stage& stage_;
  Take take_;
  std::vector<Arrival> on_the_way_;
  std::map<std::string, Instant, std::less<>> cut_until_;
  std::map<std::string, std::set<std::string>> releases_;
};

// One service's end of it.
class BookingBus final : public Bus {
 public:
  BookingBus(Stage& stage, BookingNetwork& network, std::string service)
      : stage_(stage), network_(network), service_(std::move(service)) {}

  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake) override;
  std::size_t in_flight() const override { return waiting_.size(); }
  std::optional<Instant> next_answer() const;

 private:
  struct Waiting {
    std::shared_ptr<BookingNetwork::Reply> reply;
    Instant given_up;
    Done done;
    Instant due() const { return reply->outcome ? std::min(reply->at, given_up) : given_up; }
  };

  Stage& stage_;
  BookingNetwork& network_;
  std::string service_;
  std::vector<Waiting> waiting_;
};

}  // namespace skald::sim
