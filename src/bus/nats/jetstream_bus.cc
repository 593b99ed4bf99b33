// The bus of skald/jetstream.h.
//
// An event that failed by the stream's fault is told as cut off, and its message stays here: these messages are the
// probes that find out whether the stream is well again. They are published one by one until all are in; only then
// the bus is ready. When their events are sent again they are found here, or in what was acknowledged late. So
// where room comes back slowly an event is cut off once, and not each time that another one was faster.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "bus/failure.h"
#include "bus/header_value.h"
#include "bus/nats/jetstream_stream.h"
#include "env/foreign_code.h"
#include "skald/error.h"
#include "skald/jetstream.h"

namespace skald {
namespace {

constexpr Duration kLookAgainMin = 250ms, kLookAgainMax = 5s;
constexpr std::size_t kLateMax = 4096;

const JetStreamBusOptions& checked_bus(const JetStreamBusOptions& options) {
  check_jetstream(options.stream);
  if (options.ack_timeout <= 0ms)
    throw Invalid("NATS_LIMIT", "the timeout of an acknowledgement by NATS must be above zero");
  return options;
}

// '$' begins what is the server's own; an event must not become a command to it.
bool fits_subject(std::string_view subject) {
  if (!fits_header(subject) || subject.front() == '$' || subject.front() == '_') return false;
  return subject.find_first_of("*>") == subject.npos && subject.front() != '.' && subject.back() != '.' &&
         subject.find("..") == subject.npos;
}

class JetStreamBus final : public Bus {
 public:
  JetStreamBus(const Env& env, JetStreamBusOptions options)
      : env_(env),
        options_(checked_bus(options)),
        complaint_(env.observer),
        link_(env, options_.stream.nats, {.up = [this] { look(); }, .down = [this] { on_down(); }}) {}

  void send(Message message, Done done) override {
    ++unsettled_;
    if (!fits_header(message.event.id))
      return settle(done, Outcome::refused("the event's id must be 1 to 256 visible ASCII characters to go by NATS"));
    std::string subject;
    try {
      subject = subject_of(message);
    } catch (...) {
      return settle(done, outcome_of_current_exception());
    }
    const std::string& id = message.event.id;
    if (late_.erase(id) > 0) return settle(done, Outcome::ok());
    const Instant deadline = env_.clock.steady() + options_.ack_timeout;
    for (auto& [number, kept] : sendings_) {
      if (kept.done || kept.id != id) continue;
      kept.done = std::move(done);
      kept.deadline = deadline;
      return;
    }
    sendings_.emplace(++last_number_, Sending{id, subject, cloud_event(message), std::move(done), deadline});
  }

  void poll(Duration wait, std::span<const int> wake) override {
    go_on();
    link_.poll(shorten(wait), wake);
    go_on();
    call_done();
  }

  std::size_t in_flight() const override { return unsettled_; }
  bool is_ready() const override { return phase_ == Phase::ready; }

 private:
  enum class Phase {
    down,
    looking,  // the stream is asked about
    pausing,  // it cannot be used; looked at again at look_at_
    trying,   // messages that failed are published one by one
    ready,
  };
  struct Sending {
    std::string id, subject, body;
    Done done;  // empty: it was told, and the message is a probe
    Instant deadline{};
    bool under_way = false, failed = false;
  };

  std::string subject_of(const Message& message) const {
    std::string subject = options_.subject ? run_foreign([&] { return options_.subject(message); })
                                           : options_.subject_prefix + message.event.type;
    if (fits_subject(subject)) return subject;
    throw Refused("NATS_SUBJECT",
                  "the event's subject in NATS must be 1 to 256 visible ASCII characters, with parts between dots, "
                  "without '*' and '>', and not begin with '$' or '_'");
  }

  void look() {
    phase_ = Phase::looking;
    look_at_stream(link_, options_.stream, [this](const StreamLook& look) {
      if (!link_.is_up() || phase_ != Phase::looking) return;
      if (!look.why.empty()) return pause(look.why);
      subjects_ = look.subjects;
      phase_ = Phase::trying;
    });
  }

  void pause(const std::string& why) {
    complaint_.say(why);
    phase_ = Phase::pausing;
    look_at_ = env_.clock.steady() + std::min<Duration>(kLookAgainMax, kLookAgainMin * (1 << std::min(pauses_++, 10)));
  }

  // What was published in this session may be in or not: its sender asks again in the next one.
  void on_down() {
    phase_ = Phase::down;
    std::erase_if(sendings_, [](const auto& one) { return !one.second.done; });
    late_.clear();
  }

  void go_on() {
    if (phase_ == Phase::pausing && look_at_ <= env_.clock.steady() && under_way_ == 0) look();
    if (phase_ == Phase::trying) try_next();
    if (phase_ == Phase::ready) publish_waiting();
    expire();
  }

  void try_next() {
    if (under_way_ > 0) return;
    for (auto& [number, one] : sendings_)
      if (one.failed) return publish(number, one);
    phase_ = Phase::ready;
    complaint_.clear();
  }

  void publish_waiting() {
    for (auto next = sendings_.begin(); next != sendings_.end() && phase_ == Phase::ready;) {
      const auto one = next++;  // it may end at once
      if (!one->second.under_way) publish(one->first, one->second);
    }
  }

  void publish(std::uint64_t number, Sending& one) {
    one.under_way = true;
    ++under_way_;
    const auto sent = link_.request(one.subject,
                                    {{"Nats-Msg-Id", one.id},
                                     {"Nats-Expected-Stream", options_.stream.name},
                                     {"Content-Type", "application/cloudevents+json"}},
                                    one.body, options_.ack_timeout,
                                    [this, number](const NatsReply& reply) { on_answer(number, reply); });
    if (sent == NatsLink::Sent::yes) return;
    if (sent == NatsLink::Sent::too_large)
      return end(number, Outcome::refused("the event is larger than the NATS server takes; raise its max_payload to " +
                                          std::to_string(one.body.size() + 512) + ", or make the event smaller"));
    end(number, Outcome::cut_off("the connection to NATS broke"));
  }

  void on_answer(std::uint64_t number, const NatsReply& reply) {
    Sending& one = sendings_.at(number);
    JetStreamAnswer answer = read_jetstream(reply);
    if (answer.ok() && text_in(answer.body, {"stream"}) != options_.stream.name)
      answer = {.status = 502, .error = "something that is not the stream answers on " + one.subject};
    if (answer.ok()) {
      pauses_ = 0;
      if (!one.done && late_.size() < kLateMax) late_.insert(one.id);
      return end(number, Outcome::ok());
    }
    const std::string why = "NATS did not take the event: " + answer.error;
    if (reply.kind == NatsReply::Kind::lost) return end(number, Outcome::cut_off(why));
    if (answer.status < 500)
      return end(number, Outcome::refused(why + "; mend the stream or the event, then replay it"));
    const bool taken =
        std::ranges::any_of(subjects_, [&](const auto& pattern) { return covers_subject(pattern, one.subject); });
    if (reply.kind == NatsReply::Kind::nobody && !taken)
      return end(number, Outcome::refused("the NATS stream " + options_.stream.name + " does not take the subject " +
                                          one.subject + "; add it to the stream's subjects, then replay the event"));
    keep(one, why);
    if (phase_ != Phase::down && phase_ != Phase::pausing)
      pause("the NATS stream " + options_.stream.name + ": " + why);
  }

  // It is told, and stays as a probe.
  void keep(Sending& one, const std::string& why) {
    if (std::exchange(one.under_way, false)) --under_way_;
    one.failed = true;
    if (!one.done) return;
    settle(one.done, Outcome::cut_off(why));
    one.done = {};
  }

  void end(std::uint64_t number, Outcome outcome) {
    const auto found = sendings_.find(number);
    if (found->second.under_way) --under_way_;
    if (found->second.done) settle(found->second.done, std::move(outcome));
    sendings_.erase(found);
  }

  // What could not be published in time.
  void expire() {
    if (phase_ == Phase::ready) return;
    const Instant now = env_.clock.steady();
    const std::string why = phase_ == Phase::down      ? link_.why_down()
                            : complaint_.why().empty() ? "the NATS stream was not found in time"
                                                       : complaint_.why();
    for (auto next = sendings_.begin(); next != sendings_.end();) {
      const auto one = next++;
      if (!one->second.done || one->second.under_way || one->second.deadline > now) continue;
      if (one->second.failed) keep(one->second, why);
      else end(one->first, Outcome::cut_off(why));
    }
  }

  Duration shorten(Duration wait) const {
    if (!ended_.empty()) return 0us;
    const Instant now = env_.clock.steady();
    if (phase_ == Phase::pausing && under_way_ == 0) wait = std::min(wait, look_at_ - now);
    if (phase_ != Phase::ready)
      for (const auto& [number, one] : sendings_)
        if (one.done && !one.under_way) wait = std::min(wait, one.deadline - now);
    return std::max<Duration>(wait, 0us);
  }

  void settle(Done& done, Outcome outcome) { ended_.emplace_back(std::move(done), std::move(outcome)); }

  // A `done` may send again, which waits for the next poll(); if one throws, the others are called by the next poll().
  void call_done() {
    for (std::size_t left = ended_.size(); left > 0; --left) {
      const auto [done, outcome] = std::move(ended_.front());
      ended_.pop_front();
      --unsettled_;
      done(outcome);
    }
  }

  Env env_;
  const JetStreamBusOptions options_;
  Phase phase_ = Phase::down;
  Complaint complaint_;
  Instant look_at_{};
  int pauses_ = 0;  // in a row
  std::vector<std::string> subjects_;  // of the stream

  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, Sending> sendings_;  // in the order of send()
  std::size_t under_way_ = 0;  // of them: published, and not answered
  std::set<std::string> late_;  // acknowledged after their events were told as cut off
  std::size_t unsettled_ = 0;  // given to send(), and not told
  std::deque<std::pair<Done, Outcome>> ended_;

  NatsLink link_;  // last: it goes first, and calls nobody after that
};

}  // namespace

std::unique_ptr<Bus> jetstream_bus(const Env& env, JetStreamBusOptions options) {
  return std::make_unique<JetStreamBus>(env, std::move(options));
}

}  // namespace skald
