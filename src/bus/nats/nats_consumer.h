// The durable pull consumer of one partition: found or made, and asked for
// messages in batches. Used by NatsInlet.
//
// Messages come in the order of the stream and are acknowledged in it, the last of
// many for all of them. A
// durable that was left with messages unacknowledged, or with somebody's request
// still waiting, would deliver later ones first: it is made anew, from behind the
// last acknowledged message. The description of a durable names the run of the
// server that made it; under another one its position means nothing (it may be
// ahead of a stream that lost its end, and then never deliver what is new), and it
// is made anew: from behind the last message that this process has landed, where the
// stream still has that very one (stored at the same time: what was lost and given again is
// another, and may have others in front of it), because it loses from its end only; or else
// from the start of the window.
#pragma once

#include <cstdint>
#include <string>

#include "bus/nats/link.h"
#include "bus/nats/stream.h"
#include "skald/env.h"

namespace skald {

class NatsConsumer {
 public:
  struct Names {
    std::string stream, durable, subject;
  };

  // `link` outlives it.
  NatsConsumer(const Env& env, NatsLink& link, Names names, Duration window);

  void start();  // wanted from now on
  void stop();   // not wanted; everything under way is forgotten
  bool is_wanted() const { return phase_ != Phase::off; }
  void on_up();
  void on_down();

  // Does what is due; asks for `room` messages where nothing is asked for.
  void go_on(std::size_t room);
  Instant next_due() const;

  // A message of this partition came. False: it is not to be landed, because it
  // comes from before this durable was found or made.
  bool accept(const NatsMessage& message);
  // It is landed, and all before it: acknowledged within a second.
  void on_landed(const NatsMessage& message);
  // Whether another process had it, and left it unacknowledged: it may have died of it.
  bool was_left(const NatsMessage& message) const;
  // The server's word on request number `pull` instead of a message.
  void on_status(std::uint64_t pull, const NatsMessage& message);

 private:
  enum class Phase { off, down, binding, pulling, pausing };

  bool ask(const std::string& api, std::string_view body, NatsApiDone done);
  void bind();
  void on_info(const NatsApiAnswer& info);
  void find_start(std::uint64_t floor);
  void find_window(std::uint64_t floor);
  void make(std::string start);
  void make_anew(const std::string& start);
  void pull(std::size_t room);
  void pause(const std::string& why);
  void acknowledge();

  Env env_;
  NatsLink& link_;
  const Names names_;
  const Duration window_;
  Phase phase_ = Phase::off;
  std::uint64_t round_ = 0;  // of binding: answers to an earlier one are not for us
  Instant due_{};            // pausing: when to bind again; pulling: when the request must have ended
  std::uint64_t pull_ = 0;
  std::size_t outstanding_ = 0;     // asked for and not come yet
  std::uint64_t next_delivery_ = 1;  // the durable's own count
  struct {
    std::uint64_t sequence = 0;
    Time at{};       // when the server stored it
  } last_landed_;  // since start(); 0: none
  std::uint64_t suspected_ = 0;  // the last that was left unacknowledged before start()
  std::string unacknowledged_;   // where the last landed message is to be acknowledged, and all before it
  Instant acknowledge_at_{};
};

}  // namespace skald
