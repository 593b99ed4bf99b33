#include "sim/customer_bus.h"

#include <algorithm>
#include <utility>

namespace skald::sim {

void CustomerBus::send(Message message, Done done) {
  const Rates& rates = stage_.plan.rates;
  SimRandom& dice = stage_.dice;
  stage_.trace.note(stage_.now(), {"  send", message.event.id, message.event.type, std::to_string(message.attempt)});
  const auto reply = std::make_shared<std::optional<Outcome>>();
  under_way_.push_back({reply, stage_.now() + dice.between(500ms, 1500ms), std::move(done)});
  if (dice.chance(rates.server_error)) {
    *reply = Outcome::failed("HTTP 503");
    return;
  }
  if (network_.is_cut_off("notify") || dice.chance(rates.lost)) return;
  if (dice.chance(rates.doubled)) carry(message, network_.long_way(), reply, false);
  const bool answer_lost = dice.chance(rates.send_answer_lost);
  if (answer_lost) stage_.markers.hit(Marker::bus_answer_lost);
  carry(message, dice.chance(rates.late) ? network_.long_way() : network_.way(), reply, !answer_lost);
}

void CustomerBus::carry(const Message& message, Duration way, const Reply& reply, bool answered) {
  network_.carry(stage_.now() + way, [&network = network_, &stage = stage_, heard = heard_, message, reply, answered] {
    stage.trace.note(stage.now(), {"arrives", message.event.id, message.event.type});
    heard(message);
    if (answered) network.carry(stage.now() + network.way(), [reply] { *reply = Outcome::ok(); });
  });
}

void CustomerBus::poll(Duration, std::span<const int>) {
  for (;;) {
    const auto over = std::ranges::find_if(
        under_way_, [&](const UnderWay& one) { return one.reply->has_value() || one.given_up <= stage_.now(); });
    if (over == under_way_.end()) return;
    UnderWay one = std::move(*over);
    under_way_.erase(over);
    one.done(one.reply->value_or(Outcome::failed("timed out")));
  }
}

std::optional<Instant> CustomerBus::next_answer() const {
  std::optional<Instant> out;
  for (const UnderWay& one : under_way_) {
    const Instant at = one.reply->has_value() ? stage_.now() : one.given_up;
    if (!out || at < *out) out = at;
  }
  return out;
}

}  // namespace skald::sim
