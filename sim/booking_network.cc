#include "sim/booking_network.h"

#include <algorithm>

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
  const Rates& rates = stage_.plan.rates;
  SimRandom& dice = stage_.dice;
  const std::string to(receiver_of(message.event.type));
  const Instant there = stage_.now() + dice.between(500us, 60ms);
  stage_.trace.note(stage_.now(), {"  send", message.event.id, message.event.type, std::to_string(message.attempt)});
  const auto reply = std::make_shared<BookingNetwork::Reply>();
  waiting_.push_back({reply, stage_.now() + dice.between(500ms, 1500ms), std::move(done)});
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
    return network_.carry({there + much_later(), to, message, nullptr, run_});
  }
  if (dice.chance(rates.doubled)) network_.carry({there + much_later(), to, message, nullptr, run_});
  const bool answer_lost = dice.chance(rates.send_answer_lost);
  if (answer_lost) stage_.markers.hit(Marker::bus_answer_lost);
  network_.carry({there, to, std::move(message), answer_lost ? nullptr : reply, run_});
}

void BookingBus::poll(Duration, std::span<const int>) {
  if (broker_ != nullptr) follow_broker();
  for (;;) {
    const auto due = std::ranges::find_if(waiting_, [&](const Waiting& one) { return one.due() <= stage_.now(); });
    if (due == waiting_.end()) return;
    Waiting one = std::move(*due);
    waiting_.erase(due);
    one.done(one.reply->outcome ? *one.reply->outcome : Outcome::failed("timed out"));
  }
}

std::optional<Instant> BookingBus::next_answer() const {
  std::optional<Instant> out;
  for (const Waiting& one : waiting_)
    if (!out || one.due() < *out) out = one.due();
  return out;
}

}  // namespace skald::sim
