#include "sim/sim_courier.h"

#include <algorithm>
#include <utility>

#include "bus/letter_text.h"
#include "skald/error.h"

namespace skald::sim {
namespace {

constexpr Duration kPatience = 2s;

std::string maybe_cut(Stage& stage, const std::string& text) {
  return stage.dice.chance(stage.plan.rates.truncated) ? text.substr(0, stage.dice.below(text.size())) : text;
}

}  // namespace

void SimCourier::send(const std::string& to, Letter letter, Answered answered) {
  stage_.trace.note(stage_.now(), {"  send to", to, std::to_string(letter.partition), std::to_string(letter.number),
                                   std::to_string(letter.ids.size()), letter.again ? "again" : ""});
  sends_(letter);
  put(to, letter_text(letter), [this, ids = letter.ids, answered = std::move(answered)](const Reply& reply) {
    answered(answer_of(reply, ids));
  });
}

void SimCourier::ask(const std::string& to, Inquiry inquiry, Known known) {
  put(to, inquiry_text(inquiry), [this, known = std::move(known)](const Reply& reply) {
    std::optional<Knowledge> knowledge;
    try {
      if (reply.kind == Reply::Kind::text) knowledge = read_knowledge(reply.text);
    } catch (const Error&) {
      stage_.markers.hit(Marker::answer_truncated);
    }
    known(std::move(knowledge));
  });
}

Courier::Answer SimCourier::answer_of(const Reply& reply, const std::vector<std::string>& ids) {
  if (reply.kind == Reply::Kind::none) return {Answer::Kind::silence};
  if (reply.kind == Reply::Kind::nobody) return {Answer::Kind::nobody};
  try {
    Receipt receipt = read_receipt(reply.text);
    if (receipt.kind == Receipt::Kind::landed && receipt.ids != ids) stage_.markers.hit(Marker::settled_by_stored_ids);
    return {Answer::Kind::receipt, std::move(receipt)};
  } catch (const Error& error) {
    stage_.markers.hit(Marker::answer_truncated);
    return {Answer::Kind::silence, {}, error.what()};
  }
}

void SimCourier::put(const std::string& to, const std::string& text, std::function<void(const Reply&)> tell) {
  const Rates& rates = stage_.plan.rates;
  SimRandom& dice = stage_.dice;
  const auto reply = std::make_shared<Reply>();
  under_way_.push_back({reply, stage_.now() + kPatience, std::move(tell)});
  if (network_.is_cut_off(service_) || network_.is_cut_off(to)) {
    if (dice.chance(500)) reply->kind = Reply::Kind::nobody;  // else that is not known yet
    return;
  }
  if (dice.chance(rates.lost)) {
    stage_.markers.hit(Marker::letter_lost);
    return;
  }
  const bool late = dice.chance(rates.late);
  if (late) stage_.markers.hit(Marker::letter_late);
  carry(to, text, late ? network_.long_way() : network_.way(), reply);
  if (!dice.chance(rates.doubled)) return;
  stage_.markers.hit(Marker::letter_doubled);
  carry(to, text, network_.long_way(), reply);
}

// This courier need not be there any more when it arrives, nor when the answer does.
void SimCourier::carry(const std::string& to, const std::string& text, Duration way,
                       const std::shared_ptr<Reply>& reply) {
  network_.carry(stage_.now() + way,
                 [&network = network_, &office = office_, to, bytes = maybe_cut(stage_, text), back = way_back(reply)] {
                   if (!network.is_cut_off(to)) office.arrive(to, bytes, back);
                 });
}

PostOffice::Reply SimCourier::way_back(const std::shared_ptr<Reply>& reply) {
  return [&stage = stage_, &network = network_, own = service_, reply](const std::optional<std::string>& answer) {
    const Rates& rates = stage.plan.rates;
    if (stage.dice.chance(rates.send_answer_lost)) return stage.markers.hit(Marker::post_answer_lost);
    const bool late = stage.dice.chance(rates.late);
    if (late) stage.markers.hit(Marker::answer_late);
    network.carry(stage.now() + (late ? network.long_way() : network.way()),
                  [&network, own, reply, bytes = answer ? std::optional(maybe_cut(stage, *answer)) : std::nullopt] {
                    if (network.is_cut_off(own) || reply->kind != Reply::Kind::none) return;
                    *reply = bytes ? Reply{Reply::Kind::text, *bytes} : Reply{Reply::Kind::nobody};
                  });
  };
}

void SimCourier::poll(Duration, std::span<const int>) {
  for (;;) {
    const auto over = std::ranges::find_if(under_way_, [&](const UnderWay& one) { return is_over(one, stage_.now()); });
    if (over == under_way_.end()) return;
    const UnderWay one = std::move(*over);
    under_way_.erase(over);
    one.tell(*one.reply);
  }
}

std::optional<Instant> SimCourier::next_answer() const {
  std::optional<Instant> out;
  for (const UnderWay& one : under_way_) {
    const Instant at = is_over(one, stage_.now()) ? stage_.now() : one.given_up;
    if (!out || at < *out) out = at;
  }
  return out;
}

}  // namespace skald::sim
