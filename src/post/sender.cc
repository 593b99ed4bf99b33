#include "post/sender.h"

#include <algorithm>
#include <utility>

#include "outbox/integrity.h"
#include "outbox/sending.h"
#include "store/tables/chain.h"

namespace skald::post {
namespace {

using tables::subscriber::Landed;
using tables::subscriber::Ready;

constexpr Duration kIdleMax = 1s;
constexpr Duration kSettleWithin = 50ms;
constexpr Duration kPauseFirst = 50ms, kPauseMax = 5s;
constexpr Duration kCompareEvery = 60s;
// Of letters under way, and in one transaction.
constexpr std::size_t kBytesUnderWay = 16 * 1024 * 1024;
constexpr std::size_t kLettersTogether = 32;

}  // namespace

Sender::Sender(Env env, Database& db, const outbox::Membership& membership, const outbox::Routing& routing,
               const OutboxOptions& options, dead_letter::Alert alert)
    : env_(env),
      db_(db),
      membership_(membership),
      options_(options),
      handling_(env, routing, options, nullptr),
      alert_(std::move(alert)),
      troubles_(env),
      view_(std::make_shared<outbox::Membership::View>()) {}

void Sender::set_courier(Courier& courier) {
  courier_ = &courier;
  courier.on_return([this](const std::string& service) { end_pauses(service); });
}

Duration Sender::run_once() {
  if (courier_ == nullptr) return kIdleMax;
  try {
    const Duration again = step();
    failures_ = 0;
    count_under_way();
    return again;
  } catch (const Error& error) {
    ++failures_;
    count_under_way();
    env_.observer.count("post_errors_total");
    env_.observer.log(
        Observer::Level::warn, "letters to other services cannot be written, and are tried again",
        "\"tag\":\"[Outbox]\",\"code\":\"" + error.code() + "\",\"error\":" + to_json(std::string(error.what())));
    return std::min<Duration>(50ms * (1 << std::min(failures_, 5)), kIdleMax);
  }
}

Duration Sender::step() {
  courier_->poll(Duration::zero());
  if (!membership_.trusted()) return options_.beat / 10;
  const Instant now = env_.clock.steady();
  if (looks_again_.exchange(false)) find_subscribers();
  follow_membership();
  if (lanes_.empty()) return kIdleMax;
  if (!draining_ && compare_at_ <= now) compare_places();
  follow_wakes();
  judge_answers();
  if (go_on_reconciling()) return Duration::zero();
  Round round = plan_round();
  if (round.landed.empty() && round.wanted.empty()) return idle_time();
  run(round);
  after_settling(round);
  for (const auto& [subscriber, lanes] : round.ready)
    for (const Ready& ready : lanes) send(row_of(subscriber), ready);
  return Duration::zero();
}

void Sender::find_subscribers() {
  std::vector<Row> found;
  try {
    if (own_id_.empty())
      own_id_ = db_.write_result("name the database",
                                 [&](Transaction& tx) { return tables::subscriber::database_id(tx, env_.random); });
    found = db_.read_result([](Transaction& tx) { return tables::subscriber::all(tx); });
  } catch (...) {
    looks_again_ = true;
    throw;
  }
  compare_at_ = env_.clock.steady();
  if (found == subscribers_) return;
  woken_ = ~std::uint64_t{0};  // what a new one is owed
  subscribers_ = std::move(found);
  view_ = std::make_shared<outbox::Membership::View>();  // lanes are made anew where they are new
}

void Sender::follow_membership() {
  const auto view = membership_.view();
  if (view == view_) return;
  std::map<LaneId, Lane> next;
  for (const Row& row : subscribers_) {
    for (const auto& share : view->shares) {
      if (share.leaving) continue;
      const LaneId id{row.name, share.partition};
      const auto before = lanes_.find(id);
      if (before != lanes_.end() && before->second.fence == share.fence) next.insert(lanes_.extract(before));
      else next[id] = {.fence = share.fence, .is_in_doubt = share.careful};
    }
  }
  lanes_ = std::move(next);
  std::erase_if(reconciliations_, [&](const auto& one) { return !lanes_.contains(one.first); });
  view_ = view;
  compare_at_ = env_.clock.steady();
}

void Sender::follow_wakes() {
  const std::uint64_t woken = woken_.exchange(0);
  for (auto& [id, lane] : lanes_)
    if ((woken >> id.second & 1) != 0) lane.is_wanted = true;
}

// Who was restored shows also where nothing is sent. What was settled before the question is there
// at the answer; and nothing is there that was not sent before the look behind it.
void Sender::compare_places() {
  compare_at_ = env_.clock.steady() + kCompareEvery;
  for (const Row& row : subscribers_) {
    auto before = db_.read_result([&](Transaction& tx) { return tables::subscriber::places(tx, row.name); });
    courier_->ask(row.name, {own_id_}, [this, name = row.name, before = std::move(before)](auto knowledge) {
      if (knowledge) comparisons_.push_back({name, before, std::move(knowledge->lasts)});
    });
  }
}

// The answers that call for a look at the database; where that is away they wait for the next step.
void Sender::judge_answers() {
  for (; !comparisons_.empty(); comparisons_.pop_front()) judge(comparisons_.front());
  for (auto& [id, lane] : lanes_) {
    if (lane.state == Lane::State::disputed) reconcile(id, lane.disputed);
    if (lane.state != Lane::State::answered || lane.receipt.ids == lane.ids) continue;
    note_strange(id, lane);
    lane.ids = lane.receipt.ids;
  }
}

void Sender::judge(const Comparison& one) {
  const auto after = db_.read_result([&](Transaction& tx) { return tables::subscriber::places(tx, one.subscriber); });
  for (const auto& [partition, place] : one.before) {
    const auto found = one.there.find(partition);
    const LanePlace there = found == one.there.end() ? LanePlace{} : found->second;
    const bool is_old = there.number < place.number || there.number > after.at(partition).number + 1;
    const bool is_other = place == after.at(partition) && there.number == place.number && there != place;
    // One letter more than is settled may be under way, but not where nothing is owed: this database has forgotten it.
    const bool is_ahead = there.number == place.number + 1 && is_at_rest({one.subscriber, partition}, place);
    if (is_old || is_other || is_ahead) reconcile({one.subscriber, partition}, there);
  }
}

// Those that have waited longest for their settling, and lanes in turn.
Sender::Round Sender::plan_round() {
  Round round;
  const bool settles = settles_now();
  const Instant now = env_.clock.steady();
  std::size_t bytes = bytes_under_way(), letters = 0;
  const auto consider = [&](const LaneId& id, Lane& lane) {
    const bool answered = lane.state == Lane::State::answered;
    if (answered && settles) round.landed[id.first].push_back({id.second, lane.number, lane.former, lane.receipt.ids});
    const bool is_free = (answered && settles) || (lane.state == Lane::State::idle && lane.not_before <= now);
    if (draining_ || !lane.is_wanted || !is_free || letters == kLettersTogether || bytes >= kBytesUnderWay) return;
    round.wanted[id.first].push_back(id.second);
    lane.is_wanted = false;
    last_begun_ = id;
    bytes += tables::subscriber::kBytesMax;
    ++letters;
  };
  const auto middle = lanes_.upper_bound(last_begun_);
  for (auto lane = middle; lane != lanes_.end(); ++lane) consider(lane->first, lane->second);
  for (auto lane = lanes_.begin(); lane != middle; ++lane) consider(lane->first, lane->second);
  return round;
}

// A lane that has nothing more to send waits for others.
bool Sender::settles_now() const {
  const Instant now = env_.clock.steady();
  return std::ranges::any_of(lanes_, [&](const auto& one) {
    const Lane& lane = one.second;
    return lane.state == Lane::State::answered && (lane.is_wanted || draining_ || lane.at + kSettleWithin <= now);
  });
}

void Sender::run(Round& round) {
  const auto read = [&](Transaction& tx) {
    round.ready.clear();
    for (const auto& [subscriber, partitions] : round.wanted)
      round.ready[subscriber] = tables::subscriber::ready(tx, row_of(subscriber), partitions);
  };
  try {
    if (round.landed.empty()) return db_.read(read);
    db_.write("settle letters", [&](Transaction& tx) {
      for (const auto& [subscriber, landed] : round.landed) tables::subscriber::settle(tx, row_of(subscriber), landed);
      read(tx);
    });
  } catch (...) {
    for (const auto& [subscriber, partitions] : round.wanted)
      for (const int partition : partitions) lanes_.at({subscriber, partition}).is_wanted = true;
    throw;
  }
}

void Sender::after_settling(const Round& round) {
  for (const auto& [subscriber, landed] : round.landed) {
    for (const Landed& one : landed) {
      Lane& lane = lanes_.at({subscriber, one.partition});
      lane.state = Lane::State::idle;
      lane.is_in_doubt = false;
      count("post_settled_total", subscriber, std::ssize(one.ids));
    }
  }
}

void Sender::send(const Row& row, const Ready& ready) {
  const LaneId id{row.name, ready.partition};
  Lane& lane = lanes_.at(id);
  if (ready.entries.empty()) return;
  Letter letter{own_id_, ready.partition, ready.place.number + 1, ready.place.chain, lane.is_in_doubt, {}, {}};
  lane.traced.clear();
  lane.bytes = 0;
  for (const Entry& entry : ready.entries) {
    if (!outbox::verify(entry, options_.hash_key)) {
      db_.write("give to the relay", [&](Transaction& tx) { tables::subscriber::give_to_relay(tx, entry.id); });
      continue;
    }
    letter.ids.push_back(entry.id);
    letter.events.push_back(outbox::outgoing(env_, handling_, entry));
    lane.bytes += entry.event.payload.size() + 512;
    if (auto span = outbox::begin_sending(env_, entry)) lane.traced.push_back({entry, std::move(span)});
  }
  // Behind a full letter there is more.
  lane.is_wanted = lane.is_wanted || ready.entries.size() == tables::subscriber::kEventsMax ||
                   lane.bytes + tables::subscriber::kBytesMax / 2 > tables::subscriber::kBytesMax;
  if (letter.ids.empty()) return;
  lane.state = Lane::State::sent;
  lane.number = letter.number;
  lane.former = letter.former;
  lane.ids = letter.ids;
  lane.at = env_.clock.steady();
  count("post_letters_total", row.name);
  if (lane.is_in_doubt) count("post_repeats_total", row.name);
  courier_->send(row.name, std::move(letter),
                 [this, id, number = lane.number](Courier::Answer answer) { hear(id, number, std::move(answer)); });
}

void Sender::hear(const LaneId& id, std::int64_t number, Courier::Answer answer) {
  const auto found = lanes_.find(id);
  if (found == lanes_.end() || found->second.state != Lane::State::sent || found->second.number != number) return;
  Lane& lane = found->second;
  using Kind = Courier::Answer::Kind;
  switch (answer.kind) {
    case Kind::nobody:
      return pause(id, lane, "nobody takes its letters: the service is not running, or cannot be reached");
    case Kind::refused: return pause(id, lane, std::move(answer.why));
    case Kind::silence: lane.is_in_doubt = true; return pause(id, lane, "it gives no answer");
    case Kind::receipt: break;
  }
  if (answer.receipt.kind == Receipt::Kind::busy) return pause(id, lane, "it says that it is busy");
  note_reached(id.first);
  lane.failures = 0;
  env_.observer.timing(labelled("post_round_trip_seconds", "subscriber", id.first), env_.clock.steady() - lane.at);
  Receipt& receipt = answer.receipt;
  const bool is_gap = receipt.kind == Receipt::Kind::gap;
  if (is_gap || receipt.former != lane.former) {
    lane.state = Lane::State::disputed;
    lane.disputed = is_gap ? LanePlace{receipt.last, receipt.chain}
                           : LanePlace{number, tables::next_chain(receipt.former, receipt.ids)};
    return;
  }
  for (Sending& one : std::exchange(lane.traced, {}))
    outbox::end_sending(env_, *one.span, one.entry, options_.source, Outcome::ok());
  lane.state = Lane::State::answered;
  lane.at = env_.clock.steady();
  lane.is_wanted = lane.is_wanted || receipt.ids != lane.ids;  // some of it is still owed
  lane.receipt = std::move(receipt);
}

void Sender::pause(const LaneId& id, Lane& lane, std::string why) {
  lane.state = Lane::State::idle;
  lane.is_wanted = true;
  const Duration longest = std::min<Duration>(kPauseFirst * (1 << std::min(lane.failures, 7)), kPauseMax);
  ++lane.failures;
  const auto part = static_cast<Duration::rep>(env_.random.next() % 1000);
  lane.not_before = env_.clock.steady() + longest / 2 + longest * part / 2000;
  troubles_.note(id.first, std::move(why));
}

void Sender::note_reached(const std::string& subscriber) {
  if (troubles_.end(subscriber)) end_pauses(subscriber);
}

void Sender::end_pauses(const std::string& subscriber) {
  for (auto& [id, lane] : lanes_)
    if (id.first == subscriber) lane.not_before = {};
}

void Sender::count_under_way() {
  under_way_ = static_cast<std::size_t>(std::ranges::count_if(lanes_, [](const auto& one) {
    return one.second.state == Lane::State::sent || one.second.state == Lane::State::answered;
  }));
}

Duration Sender::idle_time() const {
  Duration idle = kIdleMax;
  const Instant now = env_.clock.steady();
  const auto until = [&](Instant at) { idle = std::clamp<Duration>(at - now, Duration::zero(), idle); };
  const bool may_send = !draining_ && bytes_under_way() < kBytesUnderWay;
  for (const auto& [id, work] : reconciliations_)
    if (!work.is_asked) until(work.not_before);
  for (const auto& [id, lane] : lanes_) {
    if (lane.state == Lane::State::answered) until(lane.at + kSettleWithin);
    if (may_send && lane.state == Lane::State::idle && lane.is_wanted) until(lane.not_before);
  }
  return idle;
}

const Sender::Row& Sender::row_of(const std::string& subscriber) const {
  return *std::ranges::find(subscribers_, subscriber, &Row::name);
}

}  // namespace skald::post
