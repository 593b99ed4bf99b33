// Events into a JetStream stream: subject skald.TOPIC.PARTITION (of the event's
// key), Nats-Msg-Id the event's id, body its CloudEvents envelope, the same bytes
// at every attempt. One message of a partition is on its way at a time; what is sent
// meanwhile goes together in the next one (batch.h). So the order of a partition is
// kept, and a message costs the less the more there is to do.
//
// What becomes of an event:
//   acknowledged (a duplicate too)                 delivered
//   no answer in time                              retry: whether it arrived is not known
//   the connection broke                           the same, at once
//   not connected until the time was up            retry, at once
//   JetStream cannot now (full, no leader)         retry
//   too large, not permitted, a bad request        refused
//   one before it in its partition was none of     retry, at once
//   delivered
// Where a batch is refused its events go one by one, which shows whose fault it is.
//
// NATS acknowledges before it has synced, so a server that comes back may have
// lost what it acknowledged. Who keeps the events (the outbox) is therefore
// asked to give them again:
//   1. The server's id differs from the one before (or it is the first), and the
//      last acknowledged event is not where it was. The stream is asked for the last
//      event of each partition (last_kept()), and the bus is *held*: nothing new is
//      published. The function given to on_loss() is called, once per such change.
//   2. The keeper calls republish() with what was delivered within the last
//      minutes, oldest first, in as many parts as it likes, then resume(); or
//      resume() at once where it knows better. The stream drops what it still has.
//   3. When all of that is acknowledged the bus goes on. If the connection breaks
//      before, it begins again at 1.
// The last minutes are well above the 60 s between the server's syncs, and within
// options.stream.dedupe_window. outbox/relay_keeping.cc is such a keeper.
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

#include "bus/nats/link.h"
#include "bus/nats/stream.h"
#include "skald/bus.h"

namespace skald {

struct NatsBusOptions {
  NatsOptions connection;
  NatsStreamOptions stream;
  std::chrono::milliseconds ack_timeout = 5s;
  // Events without an outcome; more are answered with a retry at once.
  std::size_t in_flight_max = 1024;
};

class NatsBus final : public Bus {
 public:
  // Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
  NatsBus(const Env& env, NatsBusOptions options);

  // What is under way is dropped and its `done` never called: the outbox finds
  // it pending. Not from inside of a `done`.
  ~NatsBus() override = default;

  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake = {}) override;
  std::size_t in_flight() const override { return sending_ + ended_.size(); }

  bool keeps_order() const override { return true; }
  bool is_ready() const override { return phase_ == Phase::ready; }
  const std::string& server_id() const { return link_.server_id(); }

  void on_loss(std::function<void()> lost) override { on_loss_ = std::move(lost); }
  void hold() override;
  bool is_held() const override { return phase_ == Phase::held; }
  std::map<int, std::string> last_kept() const override { return last_kept_; }
  void republish(std::span<const Message> messages) override;
  void resume() override;
  std::size_t republishing() const override { return republishing_; }

 private:
  enum class Phase {
    down,       // not connected
    preparing,  // the stream is looked for, or what it has kept
    failed,     // the stream cannot be used; tried again at prepare_at_
    held,
    ready,
  };
  struct Sending {
    Message message;
    Done done;
    Instant deadline;
  };
  struct Ended {
    Done done;
    Outcome outcome;
  };
  struct Acknowledged {
    std::uint64_t sequence = 0;
    std::string id;
  };
  struct Queue {  // of one partition
    std::deque<Sending> events;
    std::size_t under_way = 0;  // of those, the first: in the message that is on its way
    bool alone = false;  // a batch was refused: until it is empty, events go one by one
    Instant not_before{};
  };

  void on_up();
  void on_down();
  void prepare();
  void prove(const NatsStreamState& stream);
  void ask_what_is_kept();
  void fail_preparing(const std::string& why);
  void report_loss();
  void look_again();
  void be_ready();
  void forget_backlog();
  void go_on();

  NatsLink::Sent publish_front(int partition, Queue& queue, std::function<void(const Outcome&)> answered);
  Outcome outcome_of(const NatsReply& reply, const std::string& id);
  void publish_waiting();
  void expire_waiting();
  void on_answered(Queue& queue, const Outcome& outcome);
  void end(Queue& queue, std::size_t first, std::size_t count, const Outcome& outcome);
  void publish_backlog();
  void on_republished(Queue& queue, const Outcome& outcome);
  void call_done();
  Duration shorten(Duration wait) const;

  Env env_;
  const NatsBusOptions options_;
  std::function<void()> on_loss_;
  Phase phase_ = Phase::down;
  Instant prepare_at_{};
  std::string why_;           // the stream cannot be used
  std::string sound_server_;  // the server whose store is known to be whole
  Acknowledged last_;         // the highest sequence, and whose it is

  std::array<Queue, kPartitions> queues_;
  std::size_t sending_ = 0;  // in all of them
  std::deque<Ended> ended_;

  std::array<Queue, kPartitions> backlog_;  // what is sent again
  std::map<int, std::string> last_kept_;
  int kept_asked_ = 0;               // partitions whose last event is not known yet
  std::uint64_t backlog_round_ = 0;  // answers to an earlier one are not for this
  std::size_t republishing_ = 0;
  bool resumed_ = false;    // the keeper has given everything
  bool suspected_ = false;  // no proof will do: the keeper is to be asked

  NatsLink link_;  // last: it goes first, and calls nobody after that
};

}  // namespace skald
