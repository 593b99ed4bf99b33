#include "bus/nats/jetstream_inlet.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/text.h"
#include "bus/cloud_event_reader.h"
#include "skald/error.h"

namespace skald {
namespace {

constexpr Duration kLookAgain = 1s;
constexpr Duration kPullExpires = 3s;
constexpr Duration kSlack = 250ms;  // of the server's timers
constexpr Duration kLandAgainMin = 50ms, kLandAgainMax = 5s;

const JetStreamInletOptions& checked_inlet(const JetStreamInletOptions& options) {
  check_jetstream(options.stream);
  check_nats_name("the name of a durable", options.durable);
  if (options.stream.make && (options.stream.make->max_age == 0us || options.stream.make->max_age > options.age_max))
    throw Invalid("NATS_LIMIT", "a NATS stream that is made must keep messages for no longer than the inlet's age_max");
  if (options.in_flight_max == 0 || options.in_flight_max > 10'000 || options.age_max <= Duration::zero())
    throw Invalid("NATS_LIMIT", "an inlet takes 1 to 10000 messages at once, and its age_max must be above zero");
  return options;
}

struct Place {
  int times = 1;  // that it was given to somebody
  std::uint64_t sequence = 0;
};

// $JS.ACK.STREAM.DURABLE.TIMES.SEQUENCE.…, or $JS.ACK.DOMAIN.ACCOUNT.STREAM.DURABLE.TIMES.SEQUENCE.… of newer servers.
Place place_of(const NatsMessage& message) {
  std::vector<std::string_view> parts;
  const std::string_view reply = message.reply();
  for (std::size_t at = 0; at <= reply.size();) {
    const std::size_t dot = std::min(reply.find('.', at), reply.size());
    parts.push_back(reply.substr(at, dot - at));
    at = dot + 1;
  }
  Place out;
  const std::size_t first = parts.size() >= 11 ? 6 : 4;
  const auto read = [](std::string_view text, auto& value) {
    std::from_chars(text.data(), text.data() + text.size(), value);
  };
  if (parts.size() > first + 1) read(parts[first], out.times), read(parts[first + 1], out.sequence);
  return out;
}

}  // namespace

JetStreamInlet::JetStreamInlet(const Env& env, JetStreamInletOptions options, LandEvents land, SetAside set_aside,
                               Duration ack_wait)
    : env_(env),
      options_(checked_inlet(options)),
      land_(std::move(land)),
      set_aside_(std::move(set_aside)),
      ack_wait_(ack_wait),
      home_(std::uint64_t{1} << partition_of(options_.durable)),
      complaint_(env.observer),
      link_(env, options_.stream.nats,
            {.up = [this] { look(); },
             .down =
                 [this] {
                   phase_ = Phase::down;
                   is_sound_ = false;
                   arrived_.clear();  // it comes again
                   outstanding_ = 0;
                 },
             .message = [this](NatsMessage message) { take(std::move(message)); }}) {}

// The next reader is another: it gets what is in our hands from the server. Our request must not get any more, so its
// session ends.
void JetStreamInlet::set_partitions(std::uint64_t mask) {
  const bool was_ours = std::exchange(is_ours_, (mask & home_) != 0);
  if (was_ours == is_ours_) return;
  if (phase_ == Phase::idle && is_ours_) bind();
  if (is_ours_) return;
  if (outstanding_ > 0) link_.hang_up("another process reads");
  arrived_.clear();
  outstanding_ = 0;
  if (phase_ == Phase::waiting || phase_ == Phase::pulling) phase_ = Phase::idle;
}

void JetStreamInlet::look() {
  phase_ = Phase::looking;
  look_at_stream(link_, options_.stream, [this](const StreamLook& stream) {
    if (!link_.is_up()) return;
    if (!stream.why.empty()) return pause(stream.why);
    const bool remembered = stream.max_age != Duration::zero() && stream.max_age <= options_.age_max;
    if (!remembered && !options_.accept_late_repeats)
      return pause("the NATS stream " + options_.stream.name +
                   " is not used: it keeps messages for longer than age_max, so one could come again when its id is "
                   "forgotten; lower its max_age, raise age_max and the outbox's retention, or accept it by "
                   "accept_late_repeats");
    is_sound_ = true;
    if (is_ours_) return bind();
    complaint_.clear();
    phase_ = Phase::idle;
  });
}

void JetStreamInlet::bind() {
  phase_ = Phase::looking;
  const std::string subject = "$JS.API.CONSUMER.INFO." + options_.stream.name + "." + options_.durable;
  ask_jetstream(link_, subject, "", [this](const JetStreamAnswer& answer) {
    if (!link_.is_up()) return;
    if (answer.ok()) return begin(answer.body);
    if (answer.status == 404) return make();
    pause("the NATS durable " + options_.durable + " cannot be used: " + answer.error);
  });
}

void JetStreamInlet::make() {
  boost::json::object config;
  config["durable_name"] = options_.durable;
  config["ack_policy"] = "explicit";
  config["ack_wait"] = nanos(ack_wait_);
  config["deliver_policy"] = options_.from == JetStreamInletOptions::From::beginning ? "all" : "new";
  config["replay_policy"] = "instant";
  config["max_deliver"] = -1;
  config["max_ack_pending"] = options_.in_flight_max;
  if (!options_.filter_subject.empty()) config["filter_subject"] = options_.filter_subject;
  const boost::json::object request{{"stream_name", options_.stream.name}, {"config", config}};
  ask_jetstream(link_, "$JS.API.CONSUMER.DURABLE.CREATE." + options_.stream.name + "." + options_.durable,
                boost::json::serialize(request), [this](const JetStreamAnswer& made) {
                  if (!link_.is_up()) return;
                  if (made.ok()) return begin(made.body);
                  pause("the NATS durable " + options_.durable + " cannot be made: " + made.error);
                });
}

void JetStreamInlet::begin(const boost::json::object& consumer) {
  if (!text_in(consumer, {"config", "deliver_subject"}).empty() ||
      text_in(consumer, {"config", "ack_policy"}) != "explicit" ||
      text_in(consumer, {"config", "filter_subject"}) != options_.filter_subject ||
      number_in(consumer, {"config", "max_deliver"}) > 0)
    return pause("the NATS durable " + options_.durable +
                 " is not used: it must be for pulling, with explicit acknowledgements, no max_deliver, and the "
                 "inlet's filter_subject; delete it, or name another one");
  complaint_.clear();
  if (!is_ours_) {
    phase_ = Phase::idle;
    return;
  }
  const bool asked = number_in(consumer, {"num_waiting"}) > 0;
  left_ = std::min(static_cast<std::size_t>(number_in(consumer, {"num_ack_pending"})), options_.in_flight_max);
  due_ = env_.clock.steady() + duration_in(consumer, {"config", "ack_wait"}) + kSlack +
         (asked ? kPullExpires : Duration::zero());
  phase_ = asked || left_ > 0 ? Phase::waiting : Phase::pulling;
}

void JetStreamInlet::pause(const std::string& why) {
  complaint_.say(why);
  is_sound_ = false;
  phase_ = Phase::pausing;
  outstanding_ = 0;
  due_ = env_.clock.steady() + kLookAgain;
}

void JetStreamInlet::go_on() {
  const Instant now = env_.clock.steady();
  if (phase_ == Phase::pausing && due_ <= now) look();
  if (phase_ == Phase::waiting && due_ <= now) phase_ = Phase::pulling;
  if (phase_ != Phase::pulling) return;
  if (outstanding_ > 0 && pull_ends_ <= now) {  // the server forgot it, or its word on it was lost
    outstanding_ = 0;
    if (arrived_.empty()) return bind();
  }
  if (arrived_.empty() && outstanding_ == 0) pull();
}

void JetStreamInlet::pull() {
  const std::size_t batch = left_ > 0 ? left_ : options_.in_flight_max;
  const boost::json::object request{{"batch", batch}, {"expires", nanos(kPullExpires)}};
  if (link_.publish("$JS.API.CONSUMER.MSG.NEXT." + options_.stream.name + "." + options_.durable, {},
                    boost::json::serialize(request), link_.inbox(std::to_string(++pull_))) != NatsLink::Sent::yes)
    return;
  outstanding_ = batch;
  pull_ends_ = env_.clock.steady() + kPullExpires + 5s;
}

void JetStreamInlet::take(NatsMessage message) {
  if (message.subject() == link_.inbox(std::to_string(pull_))) return on_status(message);
  if (phase_ != Phase::pulling || outstanding_ == 0 || !message.reply().starts_with("$JS.ACK.")) return;
  --outstanding_;
  arrived_.push_back(std::move(message));
}

// 100 is a sign of life. 404 and 408: the time was up, with fewer messages than asked for. Anything else means that the
// durable is not as we think.
void JetStreamInlet::on_status(const NatsMessage& message) {
  const std::string_view status = message.header("Status");
  if (phase_ != Phase::pulling || status == "100") return;
  outstanding_ = 0;
  if (arrived_.empty()) left_ = 0;
  if (status != "408" && status != "404")
    pause("the NATS durable " + options_.durable + " of the stream " + options_.stream.name +
          " gives nothing: " + std::string(status) + " " + std::string(message.header("Description")));
}

void JetStreamInlet::poll(Duration wait, std::span<const int> wake) {
  go_on();
  link_.poll(shorten(wait), wake);
  land();
  go_on();
}

Duration JetStreamInlet::shorten(Duration wait) const {
  const Instant now = env_.clock.steady();
  if (phase_ == Phase::pausing || phase_ == Phase::waiting) wait = std::min(wait, due_ - now);
  const bool lands = !arrived_.empty() && (left_ == 0 || outstanding_ == 0);
  if (phase_ == Phase::pulling) wait = std::min(wait, (lands ? land_at_ : pull_ends_) - now);
  return std::max<Duration>(wait, 0us);
}

void JetStreamInlet::land() {
  if (arrived_.empty() || land_at_ > env_.clock.steady()) return;
  if (left_ > 0) {
    if (outstanding_ > 0) return;
    std::ranges::sort(arrived_, {}, [](const NatsMessage& message) { return place_of(message).sequence; });
    left_ = 0;
  }
  const std::size_t count = arrived_.size();
  try {
    land_first(count);
    failures_ = 0;
  } catch (const std::exception& error) {
    land_at_ =
        env_.clock.steady() + std::min<Duration>(kLandAgainMax, kLandAgainMin * (1 << std::min(failures_++, 10)));
    env_.observer.count("jetstream_landings_failed_total");
    env_.observer.log(Observer::Level::warn,
                      "events from NATS cannot be landed and are tried again: " + cut_text(error.what(), 300));
    return;
  }
  // One that does not get out means that its message comes again.
  for (std::size_t i = 0; i < count; ++i) link_.publish(std::string(arrived_[i].reply()), {}, "+ACK");
  arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(count));
}

void JetStreamInlet::land_first(std::size_t count) {
  std::vector<Message> readable;
  std::vector<const NatsMessage*> origins;
  for (std::size_t i = 0; i < count; ++i) {
    const NatsMessage& message = arrived_[i];
    try {
      Message event = read_cloud_event(message.body());
      if (event.event.key.empty()) event.event.key = message.subject();
      event.attempt = std::max(place_of(message).times, 1);
      readable.push_back(std::move(event));
      origins.push_back(&message);
    } catch (const Invalid& error) {
      set_aside(message, error.what());
    }
  }
  if (readable.empty()) return;
  try {
    land_(readable);
  } catch (const Invalid&) {
    // One of them can never be landed, and must not hold up the others.
    for (std::size_t i = 0; i < readable.size(); ++i) land_alone(readable[i], *origins[i]);
  }
}

void JetStreamInlet::land_alone(const Message& event, const NatsMessage& origin) {
  try {
    land_({&event, 1});
  } catch (const Invalid& error) {
    set_aside(origin, error.what());
  }
}

void JetStreamInlet::set_aside(const NatsMessage& origin, std::string_view why) {
  env_.observer.count("jetstream_unreadable_total");
  set_aside_(origin.subject(), origin.body(), why);
}

std::unique_ptr<Inlet> jetstream_inlet(const Env& env, JetStreamInletOptions options, LandEvents land,
                                       SetAside set_aside) {
  return std::make_unique<JetStreamInlet>(env, std::move(options), std::move(land), std::move(set_aside));
}

}  // namespace skald
