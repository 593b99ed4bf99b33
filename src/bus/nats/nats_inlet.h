// Events out of a JetStream stream into the inbox: fetched in batches, landed in
// one transaction, acknowledged after that, many at once. What another process had
// and left unacknowledged comes with `attempt` 2.
//
//   NatsInlet inlet(env, options,
//                   [&](std::span<const Message> events) { engine.land(events); },  // throws: nothing is acknowledged
//                   [&](auto subject, auto bytes, auto why) { engine.set_aside(subject, bytes, why); });
//   engine.receive(inlet);  // gives it the partitions that it owns by a lease that it may still trust
//
// Each event is landed at least once, and within a partition in the order of the
// stream, as long as one process at a time has that partition. What was landed
// before comes again after a crash between landing and acknowledging, and for the
// whole window after a start of the server that lost something, or that this process
// cannot know to have lost nothing: land() dedupes by the event's id,
// over the age of the stream and a day more (memory()) at worst. So what
// was landed must be remembered for at least that long. No call is needed after a
// new server or a take-over: who binds to a durable sees whether it can go on, or
// makes it anew.
//
// Not thread safe. Starts no thread but those of the NATS library, which never
// call out: everything happens inside of poll().
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bus/nats/link.h"
#include "bus/nats/nats_consumer.h"
#include "bus/nats/stream.h"
#include "skald/bus.h"

namespace skald {

struct NatsInletOptions {
  NatsOptions connection;
  std::string service;  // who consumes: each service gets every event
  std::string topic;    // whose events
  std::size_t in_flight_max = 1024;  // messages fetched and not landed, over all partitions
  // How far a server may fall back when it comes up again: well above the 60 s
  // between its syncs.
  std::chrono::seconds window = 10min;
  std::chrono::hours age_max = NatsStreamOptions{}.age_max;  // of the stream
};

class NatsInlet final : public Inlet {
 public:
  // Returns when everything is committed; throws where it is not, and is then
  // called again with the same events first. Invalid says that an event can never
  // be landed: each is then tried alone, and those go to OnUnreadable.
  using Land = std::function<void(std::span<const Message> events)>;
  // What is no CloudEvent, or none for land(), is told of here and acknowledged. Must be prepared to
  // be told twice. What it throws counts as what land() throws.
  using OnUnreadable = std::function<void(std::string_view subject, std::string_view bytes, std::string_view why)>;

  // Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
  NatsInlet(const Env& env, NatsInletOptions options, Land land, OnUnreadable on_unreadable);
  NatsInlet(const NatsInlet&) = delete;
  NatsInlet& operator=(const NatsInlet&) = delete;

  // Bit n: partition n is ours. What was fetched of others is dropped unlanded.
  // Not from inside of land().
  void set_partitions(std::uint64_t mask) override;

  void poll(Duration wait, std::span<const int> wake = {}) override;
  bool is_up() const override { return link_.is_up(); }
  Duration memory() const override { return options_.age_max + kGivenAgainMax; }
  std::string why_down() const { return link_.why_down(); }
  std::size_t unlanded() const { return arrived_.size(); }

 private:
  struct Arrived {
    int partition;
    NatsMessage message;
  };

  struct Origin {
    std::string_view subject, text;
  };

  void on_up();
  void on_down();
  void on_message(NatsMessage message);
  void land();
  void land_first(std::size_t count);
  void land_alone(const Message& event, const Origin& origin);
  std::vector<std::string_view> events_in(const NatsMessage& message);
  void set_aside(const Origin& origin, std::string_view why);
  void go_on();
  Duration shorten(Duration wait) const;
  std::size_t share() const;  // of one partition in in_flight_max

  Env env_;
  const NatsInletOptions options_;
  const Land land_;
  const OnUnreadable on_unreadable_;
  const std::string subject_prefix_;
  std::uint64_t mask_ = 0;
  std::deque<NatsConsumer> consumers_;  // by partition
  std::deque<Arrived> arrived_;
  std::array<std::size_t, kPartitions> waiting_{};  // of arrived_, by partition
  int failures_ = 0;                                // of land(), in a row
  Instant land_at_{};
  NatsLink link_;  // last: it goes first, and calls nobody after that
};

}  // namespace skald
