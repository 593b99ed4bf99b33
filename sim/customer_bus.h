// The way of notify's messages to the customers, a webhook: it loses, doubles and delays them, and an answer may be lost
// after the customer had the message.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/post_network.h"
#include "skald/bus.h"

namespace skald::sim {

class CustomerBus final : public Bus {
 public:
  using Heard = std::function<void(const Message&)>;
  CustomerBus(Stage& stage, PostNetwork& network, Heard heard)
      : stage_(stage), network_(network), heard_(std::move(heard)) {}

  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake) override;
  std::size_t in_flight() const override { return under_way_.size(); }
  std::optional<Instant> next_answer() const;

 private:
  using Reply = std::shared_ptr<std::optional<Outcome>>;
  struct UnderWay {
    Reply reply;
    Instant given_up;
    Done done;
  };
  void carry(const Message& message, Duration way, const Reply& reply, bool answered);

  Stage& stage_;
  PostNetwork& network_;
  const Heard heard_;
  std::vector<UnderWay> under_way_;
};

}  // namespace skald::sim
