#include "sim/booking_network.h"

#include <algorithm>
#include <utility>

#include "golf/ways.h"
#include "sim/booking_broker.h"
#include "sim/signals.h"

namespace skald::sim {
namespace {

// Who gets events of that type; what no service gets goes to the customers.
std::string_view receiver_of(std::string_view type) {
  for (const golf::Way& way : golf::kWays)
    if (way.type == type) return way.to;
  return "customers";
}

}  // namespace

void BookingNetwork::carry(Arrival arrival) {
  if (arrival.message.event.type == "slot.release")
    releases_[arrival.message.event.subject].insert(arrival.message.event.id);
  on_the_way_.push_back(std::move(arrival));
}

std::optional<Instant> BookingNetwork::next() const {
  std::optional<Instant> out;
  for (const Arrival& arrival : on_the_way_)
    if (!out || arrival.at < *out) out = arrival.at;
  return out;
}

bool BookingNetwork::is_cut_off(std::string_view service) const {
  const auto cut = cut_until_.find(service);
  return cut != cut_until_.end() && stage_.now() < cut->second;
}

// Others may be delivered while one is taken in: it is off the list by then.
void BookingNetwork::deliver_due() {
  for (;;) {
    const auto first = std::ranges::min_element(on_the_way_, {}, &Arrival::at);
    if (first == on_the_way_.end() || first->at > stage_.now()) return;
    const Arrival arrival = std::move(*first);
    on_the_way_.erase(first);
    stage_.trace.note(stage_.now(), {"arrives", arrival.to, arrival.message.event.id, arrival.message.event.type});
    const Outcome outcome = take_(arrival);
    if (!outcome.error.empty()) stage_.trace.note(stage_.now(), {"  not taken:", outcome.error});
    if (arrival.reply == nullptr) continue;
    arrival.reply->outcome = outcome;
    arrival.reply->at = stage_.now() + stage_.dice.between(500us, 60ms);
  }
}

// Gives again what it is told to whenever the server may be another than the one that had it.
void BookingBus::follow_broker() {
  const bool there = broker_->is_up() && !network_.is_cut_off(service_);
  if (phase_ != Phase::down && (!there || run_ != broker_->run())) {
    phase_ = Phase::down;
    again_.clear();
    break_off();
  }
  if (phase_ == Phase::down && there) {
    sound_ = sound_ && run_ == broker_->run();
    run_ = broker_->run();
    phase_ = sound_ ? Phase::ready : Phase::held;
    resumed_ = false;
    if (!sound_ && on_loss_) on_loss_();
  }
  if (phase_ != Phase::held) return;
  if (!again_.empty()) stage_.markers.hit(Marker::bus_given_again);
  for (; !again_.empty(); again_.pop_front())
    broker_->keep(receiver_of(again_.front().event.type), again_.front(), run_);
  if (resumed_) phase_ = Phase::ready;
  sound_ = resumed_;
}

void BookingBus::hold() {
  if (broker_ == nullptr) return;
  if (phase_ == Phase::ready) phase_ = Phase::held;
  sound_ = resumed_ = false;
}

std::map<int, std::string> BookingBus::last_kept() const { return broker_->last_of("/" + service_); }

void BookingBus::republish(std::span<const Message> messages) {
  if (phase_ != Phase::held) return;
  for (const Message& message : messages) {
    stage_.trace.note(stage_.now(), {"  give again", message.event.id, message.event.type});
    again_.push_back(message);
  }
}

void BookingBus::send(Message message, Done done) {
  if (!is_ready()) throw BrokenInvariant{"B12", "an event was claimed for a bus that is down"};
  stage_.trace.note(stage_.now(), {"  send", message.event.id, message.event.type, std::to_string(message.attempt)});
  ++in_flight_;
  const int partition = partition_of(message.event.key);
  Sending sending{std::move(message), std::move(done)};
  if (broker_ != nullptr) queues_[partition].push_back(std::move(sending));
  else send_together({std::move(sending)}, partition);
}

void BookingBus::send_together(std::vector<Sending> events, int partition) {
  const Rates& rates = stage_.plan.rates;
  SimRandom& dice = stage_.dice;
  const std::string to(receiver_of(events.front().message.event.type));
  const Instant there = stage_.now() + dice.between(500us, 60ms);
  const auto reply = std::make_shared<BookingNetwork::Reply>();
  under_way_.push_back({reply, stage_.now() + dice.between(500ms, 1500ms), {}, partition});
  for (Sending& one : events) under_way_.back().dones.push_back(std::move(one.done));
  const auto carry = [&](Instant at, const std::shared_ptr<BookingNetwork::Reply>& answer) {
    for (const Sending& one : events)
      network_.carry({at, std::string(receiver_of(one.message.event.type)), one.message, answer, run_});
  };
  const auto much_later = [&] { return dice.chance(300) ? dice.between(1s, 150s) : dice.between(1ms, 4s); };
  if (dice.chance(rates.server_error)) {
    reply->outcome = Outcome::failed("HTTP 503");
    reply->at = there;
    return;
  }
  if (network_.is_cut_off(service_) || network_.is_cut_off(to) || dice.chance(rates.lost)) {
    stage_.markers.hit(Marker::message_lost);
    return;
  }
  if (broker_ == nullptr && dice.chance(rates.late)) {
    stage_.markers.hit(Marker::message_late);
    return carry(there + much_later(), nullptr);
  }
  if (dice.chance(rates.doubled)) carry(there + much_later(), nullptr);
  const bool answer_lost = dice.chance(rates.send_answer_lost);
  if (answer_lost) stage_.markers.hit(Marker::bus_answer_lost);
  carry(there, answer_lost ? nullptr : reply);
}

// Everything that waits in a partition goes together, once nothing of it is on its way.
void BookingBus::begin_waiting() {
  for (auto& [partition, queue] : queues_) {
    if (queue.empty()) continue;
    if (!is_ready()) {
      cut_off(queue);
      continue;
    }
    if (is_busy(partition)) continue;
    std::vector<Sending> events(std::make_move_iterator(queue.begin()), std::make_move_iterator(queue.end()));
    queue.clear();
    if (events.size() > 1) stage_.markers.hit(Marker::bus_batch);
    send_together(std::move(events), partition);
  }
}

bool BookingBus::is_busy(int partition) const {
  return std::ranges::find(under_way_, partition, &UnderWay::partition) != under_way_.end();
}

void BookingBus::end(std::vector<Done> dones, const Outcome& outcome) {
  in_flight_ -= dones.size();
  for (Done& done : dones) done(outcome);
}

void BookingBus::cut_off(std::deque<Sending>& queue) {
  std::vector<Done> dones;
  for (Sending& one : queue) dones.push_back(std::move(one.done));
  queue.clear();
  end(std::move(dones), Outcome::cut_off("an event before it did not get through"));
}

// No answer comes over a connection that broke, whatever became of what it is for.
void BookingBus::break_off() {
  for (UnderWay& one : std::exchange(under_way_, {}))
    end(std::move(one.dones), Outcome::cut_off("the connection broke"));
  for (auto& [partition, queue] : queues_) cut_off(queue);
}

void BookingBus::poll(Duration, std::span<const int>) {
  if (broker_ != nullptr) follow_broker();
  for (;;) {
    const auto due = std::ranges::find_if(under_way_, [&](const UnderWay& one) { return one.due() <= stage_.now(); });
    if (due == under_way_.end()) break;
    UnderWay one = std::move(*due);
    under_way_.erase(due);
    const Outcome outcome = one.reply->outcome ? *one.reply->outcome : Outcome::failed("timed out");
    end(std::move(one.dones), outcome);
    if (outcome.verdict != Verdict::delivered) cut_off(queues_[one.partition]);
  }
  begin_waiting();
}

std::optional<Instant> BookingBus::next_answer() const {
  std::optional<Instant> out;
  for (const UnderWay& one : under_way_)
    if (!out || one.due() < *out) out = one.due();
  for (const auto& [partition, queue] : queues_)
    if (!queue.empty() && !is_busy(partition)) return stage_.now();
  return out;
}

}  // namespace skald::sim
