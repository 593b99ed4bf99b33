// The network between the processes and one receiver: it loses, doubles, delays and
// reorders, and answers may be lost after the receiver had the message.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "sim/ledger.h"
#include "sim/stage.h"
#include "skald/bus.h"

namespace skald::sim {

// Messages on their way: they arrive whatever becomes of their sender.
class Network {
 public:
  Network(Stage& stage, Ledger& ledger) : stage_(stage), ledger_(ledger) {}

  struct Arrival {
    Instant at;
    Message message;
    std::int64_t fence;    // of the partition when it was sent
    bool late;             // its sender has given up by then
  };
  void carry(Arrival arrival) { on_the_way_.push_back(std::move(arrival)); }
  std::optional<Instant> next() const;
  void deliver_due();
  bool empty() const { return on_the_way_.empty(); }

  // What the receiver asked for with Retry-After.
  std::map<std::string, Instant> not_before;

 private:
  Stage& stage_;
  Ledger& ledger_;
  std::vector<Arrival> on_the_way_;
};

// One process's end of it.
class SimBus final : public Bus {
 public:
  // What the sending process believes: the fence it acts under, and how long ago
  // its step began.
  struct Sender {
    std::function<std::int64_t(int partition)> fence;
    std::function<Duration()> since_step_began;
  };
  SimBus(Stage& stage, Network& network, Ledger& ledger, Sender sender)
      : stage_(stage), network_(network), ledger_(ledger), sender_(std::move(sender)) {}

  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake) override;
  std::size_t in_flight() const override { return answers_.size(); }
  std::optional<Instant> next_answer() const;

 private:
  struct Answer {
    Instant at;
    Outcome outcome;
    Done done;
  };

  Stage& stage_;
  Network& network_;
  Ledger& ledger_;
  Sender sender_;
  std::vector<Answer> answers_;
};

}  // namespace skald::sim
