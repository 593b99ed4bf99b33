// The network between the services of the booking system: it loses, doubles, delays and
// reorders, its links go down for minutes, and an answer may be lost after the receiver
// had the message. What arrives is landed in the receiver's database, if it is there.
#pragma once

#include <deque>
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
    int run;                         // of the broker that it was sent to
  };
  // Takes a message in at its end, for good or not at all.
  using Take = std::function<Outcome(const Arrival&)>;
  BookingNetwork(Stage& stage, Take take) : stage_(stage), take_(std::move(take)) {}

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

class BookingBroker;

// One service's end of it. With a broker in between that is who gets and acknowledges what is
// sent, and the bus is down and held as the one to NATS is.
class BookingBus final : public Bus {
 public:
  BookingBus(Stage& stage, BookingNetwork& network, BookingBroker* broker, std::string service)
      : stage_(stage), network_(network), broker_(broker), service_(std::move(service)) {}

  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake) override;
  std::size_t in_flight() const override { return in_flight_; }
  std::optional<Instant> next_answer() const;

  bool keeps_order() const override { return broker_ != nullptr; }
  bool is_ready() const override { return broker_ == nullptr || phase_ == Phase::ready; }
  void on_loss(std::function<void()> lost) override { on_loss_ = std::move(lost); }
  void hold() override;
  bool is_held() const override { return phase_ == Phase::held; }
  std::map<int, std::string> last_kept() const override;
  void republish(std::span<const Message> messages) override;
  std::size_t republishing() const override { return again_.size(); }
  void resume() override { resumed_ = true; }

 private:
  enum class Phase { down, held, ready };
  struct Sending {
    Message message;
    Done done;
  };
  // What goes together: as one message of a partition to the broker, one event elsewhere.
  struct UnderWay {
    std::shared_ptr<BookingNetwork::Reply> reply;
    Instant given_up;
    std::vector<Done> dones;
    int partition;
    Instant due() const { return reply->outcome ? std::min(reply->at, given_up) : given_up; }
  };
  void follow_broker();
  void send_together(std::vector<Sending> events, int partition);
  void begin_waiting();
  bool is_busy(int partition) const;
  void end(std::vector<Done> dones, const Outcome& outcome);
  void cut_off(std::deque<Sending>& queue);
  void break_off();

  Stage& stage_;
  BookingNetwork& network_;
  BookingBroker* broker_;
  std::string service_;
  std::map<int, std::deque<Sending>> queues_;  // for the broker, by partition, one message at a time
  std::vector<UnderWay> under_way_;
  std::size_t in_flight_ = 0;

  Phase phase_ = Phase::down;
  int run_ = 0;         // of the broker, that it is or was connected to
  bool sound_ = false;  // that run is known to have everything
  std::function<void()> on_loss_;
  std::deque<Message> again_;
  bool resumed_ = false;
};

}  // namespace skald::sim
