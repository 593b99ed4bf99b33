#include "sim/sim_bus.h"

#include <algorithm>

#include "sim/business.h"
#include "sim/signals.h"

namespace skald::sim {

std::optional<Instant> Network::next() const {
  std::optional<Instant> out;
  for (const Arrival& arrival : on_the_way_)
    if (!out || arrival.at < *out) out = arrival.at;
  return out;
}

void Network::deliver_due() {
  for (;;) {
    const auto first = std::ranges::min_element(on_the_way_, {}, &Arrival::at);
    if (first == on_the_way_.end() || first->at > stage_.now()) return;
    const Arrival arrival = std::move(*first);
    on_the_way_.erase(first);
    const bool stray = arrival.late || ledger_.fence_of(partition_of(arrival.message.event.key)) != arrival.fence;
    stage_.trace.note(stage_.now(), {"arrives", arrival.message.event.id, stray ? "stray" : ""});
    ledger_.received(arrival.message, stray);
  }
}

void SimBus::send(Message message, Done done) {
  const std::int64_t fence = sender_.fence(partition_of(message.event.key));
  ledger_.sending(message, fence, sender_.since_step_began());
  const Rates& rates = stage_.plan.rates;
  SimRandom& dice = stage_.dice;
  const Temper temper = temper_of(message.event.payload);
  if (temper == Temper::poison && message.event.type.starts_with("bus.")) {
    stage_.markers.hit(Marker::crash_in_handler);
    throw Crash{};
  }
  const Instant there = stage_.now() + dice.between(500us, 60ms);
  const Instant back = there + dice.between(500us, 60ms);
  const Instant given_up = stage_.now() + dice.between(500ms, 1500ms);
  const auto arrive = [&](Instant at, bool late) { network_.carry({at, message, fence, late}); };
  const auto answer = [&](Instant at, Outcome outcome) {
    answers_.push_back({at, std::move(outcome), std::move(done)});
  };
  stage_.trace.note(stage_.now(), {"  send", message.event.id, message.event.key, std::to_string(message.attempt)});

  if (const auto asked = network_.not_before.find(message.event.id); asked != network_.not_before.end()) {
    if (stage_.now() >= asked->second) stage_.markers.hit(Marker::retry_after_honoured);
    network_.not_before.erase(asked);
  }
  const bool flaky = temper == Temper::flaky && !stage_.plan.healed && dice.chance(400);
  if (temper == Temper::doomed || flaky || dice.chance(rates.server_error))
    return answer(back, Outcome::failed("HTTP 503"));
  if (temper == Temper::unacceptable || dice.chance(rates.refused)) return answer(back, Outcome::refused("HTTP 410"));
  if (dice.chance(rates.too_many)) {
    const Duration after = dice.between(1s, 4s);
    network_.not_before[message.event.id] = stage_.now() + after;
    return answer(back, Outcome::failed("HTTP 429", after));
  }
  if (dice.chance(rates.lost)) {
    stage_.markers.hit(Marker::message_lost);
    return answer(given_up, Outcome::failed("timed out"));
  }
  if (dice.chance(rates.late)) {
    stage_.markers.hit(Marker::message_late);
    arrive(given_up + dice.between(1ms, 4s), true);
    return answer(given_up, Outcome::failed("timed out"));
  }
  arrive(there, false);
  if (dice.chance(rates.doubled)) arrive(there + dice.between(1us, 2s), true);
  if (dice.chance(rates.send_answer_lost)) {
    stage_.markers.hit(Marker::bus_answer_lost);
    return answer(given_up, Outcome::failed("timed out"));
  }
  if (message.attempt > 1) stage_.markers.hit(Marker::retry_succeeded);
  answer(back, Outcome::ok());
}

void SimBus::poll(Duration, std::span<const int>) {
  network_.deliver_due();  // nothing is answered before it has arrived
  for (;;) {
    const auto due = std::ranges::find_if(answers_, [&](const Answer& answer) { return answer.at <= stage_.now(); });
    if (due == answers_.end()) return;
    Answer answer = std::move(*due);
    answers_.erase(due);
    answer.done(std::move(answer.outcome));
  }
}

std::optional<Instant> SimBus::next_answer() const {
  std::optional<Instant> out;
  for (const Answer& answer : answers_)
    if (!out || answer.at < *out) out = answer.at;
  return out;
}

}  // namespace skald::sim
