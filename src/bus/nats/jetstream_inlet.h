// The inlet of skald/jetstream.h.
//
// One process reads a durable at a time: the owner of one partition. It asks for more only when nothing is in its hands,
// so what comes again after a failure comes in front of what is new. A reader before it may have left messages without an
// acknowledgement, or a request that the server still serves. Then the next one waits until the server gives all of that
// anew (the durable's ack_wait), because new messages would pass the others; and it puts them in order, because the
// server gives those first that it could not hand out.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "bus/nats/jetstream_stream.h"
#include "skald/jetstream.h"

namespace skald {

class JetStreamInlet final : public Inlet {
 public:
  // `ack_wait`: of a durable that is made.
  JetStreamInlet(const Env& env, JetStreamInletOptions options, LandEvents land, SetAside set_aside,
                 Duration ack_wait = 5s);

  void set_partitions(std::uint64_t mask) override;
  void poll(Duration wait, std::span<const int> wake = {}) override;
  bool is_up() const override { return is_sound_; }
  Duration memory() const override { return options_.age_max; }

 private:
  enum class Phase {
    down,
    looking,  // the stream or the durable is asked about
    pausing,  // one of them cannot be used; looked at again at due_
    idle,  // another process reads
    waiting,  // for what another reader has left, until due_
    pulling,
  };

  void look();
  void bind();
  void make();
  void begin(const boost::json::object& consumer);
  void pause(const std::string& why);
  void pull();
  void take(NatsMessage message);
  void on_status(const NatsMessage& message);
  void go_on();
  void land();
  void land_first(std::size_t count);
  void land_alone(const Message& event, const NatsMessage& origin);
  void set_aside(const NatsMessage& origin, std::string_view why);
  Duration shorten(Duration wait) const;

  Env env_;
  const JetStreamInletOptions options_;
  const LandEvents land_;
  const SetAside set_aside_;
  const Duration ack_wait_;
  const std::uint64_t home_;  // the partition whose owner reads, as a bit
  bool is_ours_ = false;
  bool is_sound_ = false;
  Phase phase_ = Phase::down;
  Complaint complaint_;
  Instant due_{};

  std::size_t left_ = 0;  // by another reader: asked for before anything new, and landed together
  std::uint64_t pull_ = 0;  // the number of the request
  std::size_t outstanding_ = 0;  // messages that it may still bring
  Instant pull_ends_{};
  std::deque<NatsMessage> arrived_;
  int failures_ = 0;  // of landing, in a row
  Instant land_at_{};
  NatsLink link_;  // last: it goes first, and calls nobody after that
};

}  // namespace skald
