#include "bus/nats/nats_consumer.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "skald/json.h"

namespace skald {
namespace {

constexpr Duration kPullExpires = 60s;
constexpr Duration kPause = 250ms;
// What is landed and not acknowledged comes again after a crash, and is known then: a server
// has less to do where many are acknowledged at once.
constexpr Duration kAcknowledgeWithin = 1s;
constexpr int kConsumerNotFound = 10014;

// Never in practice: what was left unacknowledged comes again by making the durable anew.
constexpr std::chrono::nanoseconds kAckWait = 1h;

std::string by_sequence(std::uint64_t sequence) {
  return R"("deliver_policy":"by_start_sequence","opt_start_seq":)" + std::to_string(sequence);
}
std::string by_time(Time time) {
  return R"("deliver_policy":"by_start_time","opt_start_time":)" + to_json(format_time(time));
}
constexpr char kFromTheBeginning[] = R"("deliver_policy":"all")";

// Where a message lies: in the stream, and in what the durable has delivered; and since when.
struct Place {
  std::uint64_t sequence = 0, delivery = 0;
  Time stored_at{};
};

// $JS.ACK.STREAM.DURABLE.deliveries.SEQUENCE.DELIVERY.NANOSECONDS.pending, with two more
// words in front of the stream where the server names a domain and an account.
Place place_of(const NatsMessage& message) {
  const std::string_view reply = message.reply();
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= reply.size();) {
    const std::size_t dot = std::min(reply.find('.', at), reply.size());
    words.push_back(reply.substr(at, dot - at));
    at = dot + 1;
  }
  if (words.size() < 9) return {};
  const std::size_t at = words.size() == 9 ? 5 : 7;
  const auto number = [](std::string_view word) {
    std::int64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  return {static_cast<std::uint64_t>(number(words[at])), static_cast<std::uint64_t>(number(words[at + 1])),
          from_micros(number(words[at + 2]) / 1000)};
}

}  // namespace

NatsConsumer::NatsConsumer(const Env& env, NatsLink& link, Names names, Duration window)
    : env_(env), link_(link), names_(std::move(names)), window_(window) {}

void NatsConsumer::start() {
  if (phase_ != Phase::off) return;
  phase_ = Phase::down;
  if (link_.is_up()) bind();
}

void NatsConsumer::stop() {
  acknowledge();
  ++round_;
  phase_ = Phase::off;
  last_landed_ = {};
  suspected_ = 0;
}

void NatsConsumer::on_up() {
  if (phase_ != Phase::off) bind();
}

void NatsConsumer::on_down() {
  ++round_;
  unacknowledged_.clear();
  if (phase_ != Phase::off) phase_ = Phase::down;
}

bool NatsConsumer::ask(const std::string& api, std::string_view body, NatsApiDone done) {
  return ask_jetstream(link_, api, body, [this, round = round_, done = std::move(done)](NatsApiAnswer answer) {
    if (round == round_) done(std::move(answer));
  });
}

void NatsConsumer::bind() {
  acknowledge();
  ++round_;
  phase_ = Phase::binding;
  ask("CONSUMER.INFO." + names_.stream + "." + names_.durable, "",
      [this](const NatsApiAnswer& info) { on_info(info); });
}

void NatsConsumer::on_info(const NatsApiAnswer& info) {
  if (info.status == 404 && info.error_code == kConsumerNotFound) return make(kFromTheBeginning);
  if (info.status != 200) return pause(info.error);
  const std::uint64_t floor = number_in(info.body, {"ack_floor", "stream_seq"});
  const bool was_left = number_in(info.body, {"num_ack_pending"}) > 0;
  if (was_left && last_landed_.sequence == 0)
    suspected_ = std::max(suspected_, number_in(info.body, {"delivered", "stream_seq"}));
  if (text_in(info.body, {"config", "description"}) != link_.server_id()) return find_start(floor);
  if (was_left || number_in(info.body, {"num_waiting"}) > 0)
    return make_anew(by_sequence(std::max(floor, last_landed_.sequence) + 1));
  next_delivery_ = number_in(info.body, {"delivered", "consumer_seq"}) + 1;
  outstanding_ = 0;
  phase_ = Phase::pulling;
}

void NatsConsumer::find_start(std::uint64_t floor) {
  if (last_landed_.sequence == 0) return find_window(floor);
  ask("STREAM.MSG.GET." + names_.stream, "{\"seq\":" + std::to_string(last_landed_.sequence) + "}",
      [this, floor](const NatsApiAnswer& there) {
        if (there.status != 200 && there.status != 404) return pause(there.error);
        const bool is_same =
            there.status == 200 && parse_time(text_in(there.body, {"message", "time"})) == last_landed_.at;
        if (is_same) make_anew(by_sequence(last_landed_.sequence + 1));
        else find_window(floor);
      });
}

// From the start of the window, or from behind the last acknowledged message
// where that is earlier: this consumer may have been away for longer. The window
// counts back from the stream's last message where our clock is ahead of the server's.
void NatsConsumer::find_window(std::uint64_t floor) {
  const std::string get = "STREAM.MSG.GET." + names_.stream, subject = to_json(names_.subject);
  ask(get, "{\"last_by_subj\":" + subject + "}", [this, floor, get, subject](const NatsApiAnswer& last) {
    if (last.status == 404) return make_anew(kFromTheBeginning);
    if (last.status != 200) return pause(last.error);
    Time start = std::min(env_.clock.now(), parse_time(text_in(last.body, {"message", "time"}))) - window_;
    ask(get, "{\"seq\":" + std::to_string(floor + 1) + ",\"next_by_subj\":" + subject + "}",
        [this, floor, start](const NatsApiAnswer& next) {
          if (next.status != 200 && next.status != 404) return pause(next.error);
          const bool behind = next.status == 200 && parse_time(text_in(next.body, {"message", "time"})) < start;
          make_anew(behind ? by_sequence(floor + 1) : by_time(start));
        });
  });
}

// Where this is broken off in between, the next one finds no durable and begins
// at the beginning: nothing is missed, and what was landed before is deduped.
void NatsConsumer::make_anew(const std::string& start) {
  env_.observer.count("nats_consumers_made_anew_total");
  ask("CONSUMER.DELETE." + names_.stream + "." + names_.durable, "", [this, start](const NatsApiAnswer& answer) {
    if (answer.status != 200 && answer.status != 404) return pause(answer.error);
    make(start);
  });
}

void NatsConsumer::make(std::string start) {
  const std::string request =
      "{\"stream_name\":" + to_json(names_.stream) + ",\"config\":{\"durable_name\":" + to_json(names_.durable) +
      ",\"description\":" + to_json(link_.server_id()) + ",\"filter_subject\":" + to_json(names_.subject) +
      ",\"ack_policy\":\"all\",\"replay_policy\":\"instant\",\"max_deliver\":-1," +
      "\"max_ack_pending\":-1,\"ack_wait\":" + std::to_string(kAckWait.count()) + "," + start + "}}";
  ask("CONSUMER.DURABLE.CREATE." + names_.stream + "." + names_.durable, request, [this](const NatsApiAnswer& made) {
    if (made.status != 200) return pause(made.error);
    next_delivery_ = 1;
    outstanding_ = 0;
    phase_ = Phase::pulling;
  });
}

void NatsConsumer::pause(const std::string& why) {
  if (!link_.is_up()) return;
  env_.observer.log(Observer::Level::debug, "a NATS consumer cannot be used now: " + why,
                    "\"durable\":" + to_json(names_.durable));
  ++round_;
  phase_ = Phase::pausing;
  due_ = env_.clock.steady() + kPause;
}

void NatsConsumer::go_on(std::size_t room) {
  const bool is_due = due_ <= env_.clock.steady();
  if (!unacknowledged_.empty() && acknowledge_at_ <= env_.clock.steady()) acknowledge();
  if (phase_ == Phase::pausing && is_due) bind();
  // The server forgot our request, or its word on it was lost.
  if (phase_ == Phase::pulling && outstanding_ > 0 && is_due) bind();
  if (phase_ == Phase::pulling && outstanding_ == 0 && room > 0) pull(room);
}

Instant NatsConsumer::next_due() const {
  const bool waits = phase_ == Phase::pausing || (phase_ == Phase::pulling && outstanding_ > 0);
  return std::min(waits ? due_ : Instant::max(), unacknowledged_.empty() ? Instant::max() : acknowledge_at_);
}

void NatsConsumer::pull(std::size_t room) {
  const auto nanos = std::chrono::nanoseconds(kPullExpires).count();
  const std::string request = "{\"batch\":" + std::to_string(room) + ",\"expires\":" + std::to_string(nanos) + "}";
  ++pull_;
  if (link_.publish("$JS.API.CONSUMER.MSG.NEXT." + names_.stream + "." + names_.durable, {}, request,
                    link_.inbox(names_.durable + "." + std::to_string(pull_))) != NatsLink::Sent::yes)
    return;
  outstanding_ = room;
  due_ = env_.clock.steady() + kPullExpires + 5s;
}

bool NatsConsumer::accept(const NatsMessage& message) {
  if (phase_ != Phase::pulling) return false;
  if (place_of(message).delivery != next_delivery_) {
    // One got lost on the way to us, or somebody else takes from this durable.
    bind();
    return false;
  }
  ++next_delivery_;
  if (outstanding_ > 0) --outstanding_;
  return true;
}

void NatsConsumer::on_landed(const NatsMessage& message) {
  const Place place = place_of(message);
  last_landed_ = {place.sequence, place.stored_at};
  if (unacknowledged_.empty()) acknowledge_at_ = env_.clock.steady() + kAcknowledgeWithin;
  unacknowledged_ = message.reply();
}

// One that does not get out means that what it is for comes again.
void NatsConsumer::acknowledge() {
  if (!unacknowledged_.empty()) link_.publish(unacknowledged_, {}, "+ACK");
  unacknowledged_.clear();
}

bool NatsConsumer::was_left(const NatsMessage& message) const { return place_of(message).sequence <= suspected_; }

void NatsConsumer::on_status(std::uint64_t pull, const NatsMessage& message) {
  if (phase_ != Phase::pulling || pull != pull_) return;
  const std::string_view status = message.header("Status");
  if (status == "100") return;
  outstanding_ = 0;
  // 408: the time was up, with fewer messages than asked for. Everything else
  // means that the durable is not as we think.
  if (status != "408" && status != "404") pause("status " + std::string(status));
}

}  // namespace skald
