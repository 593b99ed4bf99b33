// JetStream for readers and writers that are not Skald: a bus that publishes events into a stream, and an inlet that
// lands what others publish there. Between services of Skald use the post (skald/post.h), which trusts no broker.
//
//   auto out = jetstream_bus(env, {.stream = {.nats = nats, .name = "SHOP", .accept_unsynced = true},
//                                  .subject_prefix = "shop."});
//   engine.route({.type = "order.*", .bus = out.get()});  // order.placed goes to the subject shop.order.placed
//
//   auto in = jetstream_inlet(env, {.stream = {.nats = nats, .name = "BANK", .accept_unsynced = true}, .durable = "shop"},
//                             [&](auto events) { engine.land(events); },
//                             [&](auto subject, auto bytes, auto why) { engine.set_aside(subject, bytes, why); });
//   engine.receive(*in);
//
// What they promise is what the stream promises, and no more. An event that the stream has acknowledged is done for us:
// nobody keeps it for the stream, and nobody gives it again. Acknowledged is not synced: a NATS server answers when it has
// a message in memory, and writes it to the disk later (every 2 minutes as it is installed). So each stream is looked at
// before it is used. One that may drop what nobody has read, or that is not synced at each write, is refused with a
// sentence that names the setting, or taken by an option that says so (accept_drops, accept_unsynced).
// docs/delivery.md, "For readers who are not Skald", says what can be lost then, and when.
//
// | what happens                               | what follows                                                          |
// | not connected, no stream, a refused stream | not ready, one line in the log for each change, looked at again       |
// | no leader, stream or disk full, no answer  | the bus is not ready; what was under way is cut off, no attempt spent; |
// |                                            | it goes on with the messages that failed, one by one, until all are in |
// | too large, not permitted, a bad subject    | the event is refused with a sentence: a dead letter                   |
// | acknowledged, or known as a duplicate      | delivered                                                             |
// | what came in is no CloudEvent              | set aside as a dead letter (UNREADABLE), acknowledged                 |
// | what came in cannot be landed now          | tried again, 50 ms to 5 s; nothing more is taken meanwhile            |
// | a reader dies before it acknowledges       | it comes again, with `attempt` above 1; Engine::land knows its id     |
//
// Buses and inlets outlive the engine that they are given to. What `env` refers to outlives them. Not thread safe: an
// engine drives each from one thread; callbacks come from inside of poll(), and from no thread of the NATS library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/bus.h"
#include "skald/env.h"
#include "skald/nats.h"

namespace skald {

// A stream, and what is taken of it. A stream that exists is never changed.
struct JetStream {
  NatsOptions nats = {};
  std::string name = {};

  // A reader that is away for less than this misses nothing: the stream's max_age must be that long, or none.
  Duration age_min = 24h;
  // It may drop messages that nobody has read: max_bytes, max_msgs or max_msgs_per_subject where the oldest gives way, a
  // max_age below age_min, storage in memory, retention by interest.
  bool accept_drops = false;
  // Its server may lose the last minutes of what it acknowledged when its machine stops. What cannot be known counts as
  // not synced: sync_interval: always (nats-server 2.10) is seen where this user may ask $SYS.REQ.SERVER.*.VARZ.
  bool accept_unsynced = false;

  // Where there is no stream of that name it is made of this: in files, without a limit of size. None: it is not made.
  struct New {
    std::vector<std::string> subjects;
    Duration max_age = 6 * 24h;
    int replicas = 1;
  };
  std::optional<New> make = std::nullopt;
};

struct JetStreamBusOptions {
  JetStream stream = {};
  // The subject of an event is this and its type; or what the function says, of which a throw counts like one of a handler.
  std::string subject_prefix = {};
  std::function<std::string(const Message&)> subject = {};
  std::chrono::milliseconds ack_timeout = 5s;
};

// One event is one message: Nats-Msg-Id is its id, the body its CloudEvents envelope, the same bytes at every attempt. Many
// are on their way at once; the order of a key is kept because the relay sends one of a key at a time. A stream drops what
// comes twice within its duplicate_window; later than that a reader may see an event twice, and knows it by its id.
// Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
std::unique_ptr<Bus> jetstream_bus(const Env& env, JetStreamBusOptions options);

struct JetStreamInletOptions {
  JetStream stream = {};
  std::string durable = {};  // the consumer, which has our position; made where it is missing
  std::string filter_subject = {};  // only these; empty: all of the stream
  enum class From { beginning, now };
  From from = From::beginning;  // where a durable that is made begins
  // Nothing older is in the stream: its max_age must be that, or less. A message that comes again is known for as long as
  // the outbox keeps events, so Engine::receive refuses an outbox that keeps them for less than this.
  Duration age_max = 6 * 24h;
  // The stream may keep messages for longer. One that comes again after that (its durable was deleted) is handled again.
  bool accept_late_repeats = false;
  // Taken and not acknowledged; so much memory, each as large as the server's max_payload.
  std::size_t in_flight_max = 64;
};

// Returns when everything is committed; throws where it is not, and is then called again with the same events. Invalid
// says that an event can never be landed: each is then tried alone, and those go to SetAside.
using LandEvents = std::function<void(std::span<const Message> events)>;
// `origin` is the subject. May be told of the same twice. What it throws counts as what LandEvents throws.
using SetAside = std::function<void(std::string_view origin, std::string_view bytes, std::string_view why)>;

// Lands each message, in the order of the stream, and acknowledges it then. Several processes may have an inlet on one
// durable: the owner of one partition reads, so order holds, and another goes on where it stops. What one has left without
// an acknowledgement comes first.
//
// A message must be a CloudEvent in structured JSON form with id, source, type and time; its id must be unique over all
// sources, since events are known by it. `partitionkey` is the key; without one the subject is.
// Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
std::unique_ptr<Inlet> jetstream_inlet(const Env& env, JetStreamInletOptions options, LandEvents land,
                                       SetAside set_aside);

}  // namespace skald
