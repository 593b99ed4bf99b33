#include "bus/nats/nats_bus.h"

#include <algorithm>

#include "bus/header_value.h"
#include "bus/nats/batch.h"
#include "skald/error.h"
#include "skald/json.h"

namespace skald {
namespace {

constexpr Duration kPrepareAgain = 1s;
constexpr Duration kRepublishAgain = 100ms;

// Of the last event in what STREAM.MSG.GET gave.
std::string stored_event_id(const boost::json::object& answer) {
  const std::string of_batch = stored_header(answer, kLastEventHeader);
  return of_batch.empty() ? stored_message_id(answer) : of_batch;
}

const NatsBusOptions& checked(const NatsBusOptions& options) {
  check_stream_options(options.stream);
  if (options.ack_timeout <= 0ms || options.in_flight_max == 0)
    throw Invalid("NATS_LIMIT", "the timeout of an acknowledgement and the limit of events at once must be above zero");
  return options;
}

}  // namespace

NatsBus::NatsBus(const Env& env, NatsBusOptions options)
    : env_(env),
      options_(checked(options)),
      link_(env, options_.connection, {.up = [this] { on_up(); }, .down = [this] { on_down(); }}) {}

void NatsBus::send(Message message, Done done) {
  if (in_flight() >= options_.in_flight_max) {
    ended_.push_back({std::move(done), Outcome::failed("too many events are on their way to NATS; send it later")});
    return;
  }
  if (!fits_header(message.event.id)) {
    ended_.push_back({std::move(done), Outcome::refused("the event's id must be 1 to 256 visible ASCII characters to "
                                                        "go by NATS")});
    return;
  }
  Queue& queue = queues_[static_cast<std::size_t>(partition_of(message.event.key))];
  queue.events.push_back({std::move(message), std::move(done), env_.clock.steady() + options_.ack_timeout});
  ++sending_;
}

void NatsBus::poll(Duration wait, std::span<const int> wake) {
  go_on();
  link_.poll(shorten(wait), wake);
  go_on();
  call_done();
}

void NatsBus::go_on() {
  if (phase_ == Phase::failed && prepare_at_ <= env_.clock.steady()) prepare();
  publish_backlog();
  publish_waiting();
  expire_waiting();
}

Duration NatsBus::shorten(Duration wait) const {
  if (!ended_.empty()) return 0us;
  const Instant now = env_.clock.steady();
  if (phase_ == Phase::failed) wait = std::min(wait, prepare_at_ - now);
  if (sending_ > 0)
    for (const Queue& queue : queues_)
      if (queue.events.size() > queue.under_way) wait = std::min(wait, queue.events[queue.under_way].deadline - now);
  if (phase_ == Phase::held)
    for (const Queue& backlog : backlog_)
      if (!backlog.events.empty() && backlog.under_way == 0) wait = std::min(wait, backlog.not_before - now);
  return std::max<Duration>(wait, 0us);
}

void NatsBus::on_up() { prepare(); }

void NatsBus::on_down() {
  if (phase_ == Phase::held) suspected_ = true;  // what was begun is to be done
  phase_ = Phase::down;
  forget_backlog();
}

void NatsBus::forget_backlog() {
  ++backlog_round_;
  for (Queue& backlog : backlog_) backlog = {};
  republishing_ = 0;
}

void NatsBus::prepare() {
  phase_ = Phase::preparing;
  prepare_stream(link_, options_.stream, [this](const NatsStreamState& stream) {
    if (stream.usable) return prove(stream);
    fail_preparing(stream.error);
  });
}

void NatsBus::fail_preparing(const std::string& why) {
  if (!link_.is_up()) return;
  phase_ = Phase::failed;
  prepare_at_ = env_.clock.steady() + kPrepareAgain;
  if (why_ != why) env_.observer.log(Observer::Level::error, why);
  why_ = why;
}

// The store is whole if the event acknowledged last is still at its place and
// nothing before it is missing: what is lost is lost from the end.
void NatsBus::prove(const NatsStreamState& stream) {
  if (!link_.is_up()) return;
  const bool known = !sound_server_.empty() && !stream.created && !suspected_;
  if (known && link_.server_id() == sound_server_) return be_ready();
  if (stream.created || stream.has_gaps) {  // then the last ones tell nothing of those before
    last_kept_.clear();
    return report_loss();
  }
  if (!known || last_.sequence == 0) return ask_what_is_kept();
  const std::string request = "{\"seq\":" + std::to_string(last_.sequence) + "}";
  ask_jetstream(link_, "STREAM.MSG.GET." + nats_stream(options_.stream.topic), request, [this](NatsApiAnswer answer) {
    if (!link_.is_up()) return;
    if (answer.status != 200 && answer.status != 404) return fail_preparing(answer.error);
    if (suspected_ || answer.status == 404 || stored_message_id(answer.body) != last_.id) return ask_what_is_kept();
    be_ready();
  });
}

void NatsBus::ask_what_is_kept() {
  last_kept_.clear();
  kept_asked_ = kPartitions;
  for (int partition = 0; partition < kPartitions; ++partition) {
    const std::string request = "{\"last_by_subj\":" + to_json(nats_subject(options_.stream.topic, partition)) + "}";
    ask_jetstream(link_, "STREAM.MSG.GET." + nats_stream(options_.stream.topic), request,
                  [this, partition, round = backlog_round_](NatsApiAnswer answer) {
                    if (round != backlog_round_ || phase_ != Phase::preparing) return;
                    if (answer.status != 200 && answer.status != 404) return fail_preparing(answer.error);
                    if (answer.status == 200) last_kept_[partition] = stored_event_id(answer.body);
                    if (--kept_asked_ == 0) report_loss();
                  });
  }
}

void NatsBus::be_ready() {
  sound_server_ = link_.server_id();
  why_.clear();
  phase_ = Phase::ready;
}

void NatsBus::report_loss() {
  phase_ = Phase::held;
  suspected_ = resumed_ = false;
  last_ = {};
  env_.observer.count("nats_store_suspected_total");
  if (!on_loss_) return resume();
  env_.observer.log(Observer::Level::warn,
                    "the NATS server is another than before and may have lost what it acknowledged; the last minutes "
                    "are sent again",
                    "\"server\":" + to_json(link_.server_id()));
  on_loss_();
}

void NatsBus::hold() {
  if (phase_ != Phase::held) suspected_ = true;  // report_loss() comes once it can
  if (phase_ == Phase::ready) prepare();
  resumed_ = false;
}

// The stream has gone away under us.
void NatsBus::look_again() {
  forget_backlog();
  suspected_ = true;
  prepare();
}

void NatsBus::republish(std::span<const Message> messages) {
  if (phase_ != Phase::held) return;
  for (const Message& message : messages)
    backlog_[static_cast<std::size_t>(partition_of(message.event.key))].events.push_back({message, {}, {}});
  republishing_ += messages.size();
}

void NatsBus::resume() {
  if (phase_ == Phase::held) resumed_ = true;
}

void NatsBus::publish_backlog() {
  if (phase_ != Phase::held) return;
  const Instant now = env_.clock.steady();
  for (int partition = 0; partition < kPartitions && republishing_ > 0; ++partition) {
    Queue& backlog = backlog_[static_cast<std::size_t>(partition)];
    if (backlog.events.empty() || backlog.under_way > 0 || backlog.not_before > now) continue;
    const auto sent =
        publish_front(partition, backlog, [this, &backlog, round = backlog_round_](const Outcome& outcome) {
          if (round == backlog_round_) on_republished(backlog, outcome);
        });
    if (sent == NatsLink::Sent::too_large) on_republished(backlog, Outcome::refused("it is too large for NATS now"));
  }
  if (republishing_ == 0 && resumed_) be_ready();
}

void NatsBus::on_republished(Queue& backlog, const Outcome& outcome) {
  const std::size_t count = std::exchange(backlog.under_way, 0);
  if (outcome.verdict == Verdict::retry) {
    // Nothing of the partition may pass it.
    backlog.not_before = env_.clock.steady() + kRepublishAgain;
    return;
  }
  if (outcome.verdict == Verdict::refused) {
    backlog.alone = true;
    if (count > 1) return;
    env_.observer.log(Observer::Level::error, "NATS accepted an event once and refuses it now: " + outcome.error,
                      "\"event\":" + to_json(backlog.events.front().message.event.id));
  }
  backlog.events.erase(backlog.events.begin(), backlog.events.begin() + static_cast<std::ptrdiff_t>(count));
  backlog.alone &= !backlog.events.empty();
  republishing_ -= count;
}

// As many as fit into a message; one where not even that does, and then nothing is published.
NatsLink::Sent NatsBus::publish_front(int partition, Queue& queue, std::function<void(const Outcome&)> answered) {
  const auto publish = [&](std::size_t most) {
    NatsBatch batch;
    while (batch.size() < most && batch.add(queue.events[batch.size()].message)) {}
    queue.under_way = batch.size();
    return link_.request(
        nats_subject(options_.stream.topic, partition), batch.headers(), batch.body(), options_.ack_timeout,
        [this, answered, id = batch.id()](const NatsReply& reply) { answered(outcome_of(reply, id)); });
  };
  auto sent = publish(queue.alone ? 1 : queue.events.size());
  if (sent == NatsLink::Sent::too_large && queue.under_way > 1) {
    queue.alone = true;
    sent = publish(1);
  }
  if (sent == NatsLink::Sent::no) queue.under_way = 0;  // the connection breaks; it may wait for the next
  return sent;
}

void NatsBus::publish_waiting() {
  if (sending_ == 0) return;
  for (int partition = 0; partition < kPartitions && phase_ == Phase::ready; ++partition) {
    Queue& queue = queues_[static_cast<std::size_t>(partition)];
    if (queue.events.empty() || queue.under_way > 0) continue;
    const auto sent =
        publish_front(partition, queue, [this, &queue](const Outcome& outcome) { on_answered(queue, outcome); });
    if (sent == NatsLink::Sent::too_large)
      on_answered(queue, Outcome::refused("the event is larger than the NATS server takes; raise its max_payload, or "
                                          "make the event smaller"));
  }
}

void NatsBus::on_answered(Queue& queue, const Outcome& outcome) {
  const std::size_t count = std::exchange(queue.under_way, 0);
  if (outcome.verdict == Verdict::refused && count > 1) {
    queue.alone = true;
    return;
  }
  end(queue, 0, count, outcome);
  if (outcome.verdict != Verdict::delivered)
    end(queue, 0, queue.events.size(), Outcome::cut_off("an event before it did not get through: " + outcome.error));
  queue.alone &= !queue.events.empty();
}

void NatsBus::end(Queue& queue, std::size_t first, std::size_t count, const Outcome& outcome) {
  const auto begin = queue.events.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  for (auto one = begin; one != end; ++one) ended_.push_back({std::move(one->done), outcome});
  queue.events.erase(begin, end);
  sending_ -= count;
}

void NatsBus::expire_waiting() {
  if (sending_ == 0) return;
  const Instant now = env_.clock.steady();
  for (Queue& queue : queues_) {
    const std::size_t waiting = queue.events.size() - queue.under_way;
    if (waiting == 0 || queue.events[queue.under_way].deadline > now) continue;
    const std::string why = phase_ == Phase::down   ? link_.why_down()
                            : phase_ == Phase::held ? "what NATS may have lost is being sent again first"
                            : why_.empty()          ? "the NATS stream was not found in time"
                                                    : why_;
    end(queue, queue.under_way, waiting, Outcome::cut_off(why));
  }
}

Outcome NatsBus::outcome_of(const NatsReply& reply, const std::string& id) {
  if (reply.kind == NatsReply::Kind::denied)
    return Outcome::refused("the NATS server does not let this user publish to skald." + options_.stream.topic +
                            ".*; allow it in the server's configuration");
  const NatsApiAnswer answer = read_jetstream(reply);
  if (answer.status == 200) {
    const std::uint64_t sequence = number_in(answer.body, {"seq"});
    if (sequence > last_.sequence) last_ = {sequence, id};
    return Outcome::ok();
  }
  if (reply.kind == NatsReply::Kind::nobody && (phase_ == Phase::ready || phase_ == Phase::held)) look_again();
  const std::string why = "NATS did not take the event: " + answer.error;
  if (reply.kind == NatsReply::Kind::lost) return Outcome::cut_off(why);
  return answer.status == 400 ? Outcome::refused(why + "; mend the stream or the event, then replay it")
                              : Outcome::failed(why);
}

// A `done` may send again, which waits for the next poll(); if one throws, the
// others are called by the next poll().
void NatsBus::call_done() {
  for (std::size_t left = ended_.size(); left > 0; --left) {
    Ended ended = std::move(ended_.front());
    ended_.pop_front();
    ended.done(std::move(ended.outcome));
  }
}

}  // namespace skald
