#include "booking/lifecycle.h"

#include "booking/number.h"
#include "booking/policy.h"
#include "booking/slot_copy.h"
#include "env/seam.h"
#include "golf/log.h"
#include "skald/id.h"

namespace booking {
namespace {

using skald::Conflict;
using skald::Transaction;
using skald::seam::Rule;

golf::Reason reason_of(golf::Refusal refusal) {
  const auto sentence = [&]() -> std::string {
    switch (refusal) {
      case golf::Refusal::SLOT_FULL: return "there are not enough free places left at this time";
      case golf::Refusal::SLOT_BUSY: return "too many people tried to book this time at once: try again";
      case golf::Refusal::SLOT_CLOSED: return "this time was closed: choose another";
      case golf::Refusal::SLOT_NOT_FOUND: return "this time is not there any more: choose another";
      case golf::Refusal::SLOT_STARTED: return "this time has already begun: choose a later one";
      case golf::Refusal::SLOT_RELEASED: return "the booking was given up before its places were reserved";
    }
    return "";
  };
  return {std::string(skald::enum_name(refusal)), sentence()};
}

// It has had its answer, which may come again when its dedupe record is long gone.
bool was_confirmed(const Booking& booking) {
  return booking.status == Status::CONFIRMED || booking.status == Status::COMPLETED ||
         booking.status == Status::NO_SHOW || booking.refund_percent;
}

// The time that is wanted, and a number for its booking.
std::pair<golf::Slot, std::string> slot_and_number(Transaction& tx, const std::string& slot_id, skald::Random& random) {
  std::string number = draw_number(random);
  const auto found = tx.query_together({{kFindCopy, {slot_id}}, {kFindNumber, {number}}});
  auto slot = copy_in(found[0], slot_id);
  if (!slot) throw skald::Stale("SLOT_NOT_YET", "the time is not known here yet: try again");
  if (!found[1].empty()) number = free_number(tx, random);
  return {std::move(*slot), std::move(number)};
}

[[noreturn]] void refuse_transition(const Booking& booking, std::string_view wish) {
  throw Conflict("INVALID_TRANSITION", "a booking that is " + std::string(skald::enum_name(booking.status)) +
                                           " cannot be " + std::string(wish));
}

}  // namespace

golf::BookingNews news_of(const Booking& booking) {
  golf::BookingNews news{booking.id,
                         booking.number,
                         booking.customer,
                         booking.slot_id,
                         booking.players,
                         booking.starts_at,
                         {booking.amount, booking.currency},
                         std::nullopt,
                         std::nullopt};
  if (booking.reason_code) news.reason = {*booking.reason_code, booking.reason_message.value_or("")};
  if (booking.refund_percent)
    news.refund = {*booking.refund_percent, booking.refund_amount.value_or(0), booking.currency};
  return news;
}

Lifecycle::Lifecycle(skald::Env env, Options options)
    : env_(env), options_(std::move(options)), payments_(std::make_unique<Ledger>(options_.charge_max)) {}

Booking Lifecycle::create(Transaction& tx, const Wanted& wanted, const Cause& cause) {
  const auto [slot, number] = slot_and_number(tx, wanted.slot_id, env_.random);
  Booking booking;
  booking.id = skald::make_id(env_.clock.now(), env_.random);
  booking.number = number;
  booking.slot_id = wanted.slot_id;
  booking.customer = wanted.customer;
  booking.players = wanted.players;
  booking.amount = slot.price_per_player * wanted.players;
  booking.currency = slot.currency;
  booking.starts_at = slot.starts_at;
  booking.created_at = booking.updated_at = tx.now();
  booking.version = 1;
  tx.enqueue_insert(booking);
  tx.enqueue_insert(History{booking.id, booking.version, Happening::CREATED, cause.actor, {}, {}, tx.now()});
  tx.emit({.id = booking.id + ".reserve",
           .type = "slot.reserve",
           .key = booking.slot_id,
           .subject = booking.id,
           .payload = skald::to_json(golf::SlotReserve{booking.id, booking.slot_id, booking.players}),
           .traceparent = cause.traceparent});
  return booking;
}

Booking Lifecycle::locked(Transaction& tx, const std::string& id) {
  auto booking = tx.find_locked<Booking>(id);
  if (!booking) throw skald::Refused("BOOKING_NOT_FOUND", "an answer came for a booking that is not known here: " + id);
  return std::move(*booking);
}

void Lifecycle::on_reserved(Transaction& tx, const golf::SlotReserved& answer, const Cause& cause) {
  Booking booking = locked(tx, answer.booking_id);
  if (was_confirmed(booking) && skald::seam::holds(Rule::answer_known_again)) return;
  const bool charged_first = !skald::seam::holds(Rule::charged_when_confirmed) && payments_->charge(tx, booking);
  if (booking.status != Status::PENDING && skald::seam::holds(Rule::confirm_looks_at_status)) {
    if (skald::seam::holds(Rule::late_seats_given_back)) release(tx, booking, cause);
    return record(tx, booking, Happening::LATE_RESERVED, cause);
  }
  if (!charged_first && !payments_->charge(tx, booking)) {
    if (skald::seam::holds(Rule::declined_gives_back)) release(tx, booking, cause);
    return fail(tx, booking, {"PAYMENT_DECLINED", "the payment was declined: nothing was charged"}, cause);
  }
  booking.status = Status::CONFIRMED;
  record(tx, booking, Happening::CONFIRMED, cause);
  tell(tx, booking, "booking.confirmed", cause);
  tx.after_commit(
      [env = env_, took = tx.now() - booking.created_at] { env.observer.timing("booking_confirmed_seconds", took); });
}

void Lifecycle::on_refused(Transaction& tx, const golf::SlotReserveFailed& answer, const Cause& cause) {
  Booking booking = locked(tx, answer.booking_id);
  if (booking.status == Status::PENDING) fail(tx, booking, reason_of(answer.code), cause);
}

void Lifecycle::on_released(Transaction& tx, const golf::SlotReleased& answer, const Cause& cause) {
  Booking booking = locked(tx, answer.booking_id);
  if (booking.released_at) return;
  booking.released_at = tx.now();
  record(tx, booking, Happening::RELEASED, cause);
  if (booking.status == Status::CANCELLED) tell(tx, booking, "booking.cancelled", cause);
}

void Lifecycle::expire(Transaction& tx, const std::string& id, const Cause& cause) {
  Booking booking = locked(tx, id);
  if (booking.status != Status::PENDING) return;
  if (skald::seam::holds(Rule::timeout_gives_back)) release(tx, booking, cause);
  fail(tx, booking, {"SAGA_TIMEOUT", "saga timeout: the course did not answer in time; nothing was charged"}, cause);
}

Booking Lifecycle::cancel(Transaction& tx, const std::string& id, CancelKind kind, const std::string& reason,
                          const Cause& cause) {
  Booking booking = locked(tx, id);
  if (booking.status != Status::PENDING && booking.status != Status::CONFIRMED) refuse_transition(booking, "cancelled");
  const skald::Duration before = booking.starts_at - tx.now();
  if (kind == CancelKind::customer && before <= skald::Duration::zero())
    throw Conflict("CANCEL_TOO_LATE", "this time has begun: a booking can be cancelled until its start");
  if (booking.status == Status::CONFIRMED) {
    booking.refund_percent =
        kind == CancelKind::customer ? customer_refund_percent(before, options_.refund_last_day) : 100;
    booking.refund_amount = share_of(booking.amount, *booking.refund_percent);
    payments_->refund(tx, booking, *booking.refund_amount);
  }
  booking.status = Status::CANCELLED;
  booking.reason_code = kind == CancelKind::customer ? "CANCELLED_BY_CUSTOMER"
                        : kind == CancelKind::admin  ? "CANCELLED_BY_ADMIN"
                                                     : "CANCELLED_BY_SYSTEM";
  booking.reason_message = reason.empty() ? "no reason was given" : reason;
  release(tx, booking, cause);
  record(tx, booking, Happening::CANCELLED, cause);
  return booking;
}

Booking Lifecycle::attend(Transaction& tx, const std::string& id, Status outcome, const Cause& cause) {
  Booking booking = locked(tx, id);
  if (booking.status != Status::CONFIRMED) refuse_transition(booking, skald::enum_name(outcome));
  if (tx.now() < booking.starts_at)
    throw Conflict("NOT_STARTED", "this time has not begun: who came is known after its start");
  booking.status = outcome;
  if (outcome == Status::NO_SHOW) {
    booking.refund_percent = 0;
    booking.refund_amount = 0;
  }
  record(tx, booking, outcome == Status::COMPLETED ? Happening::COMPLETED : Happening::NO_SHOW, cause);
  return booking;
}

void Lifecycle::fail(Transaction& tx, Booking& booking, golf::Reason reason, const Cause& cause) {
  tx.after_commit([env = env_, metric = "booking_failed_" + reason.code + "_total"] { env.observer.count(metric); });
  booking.status = Status::FAILED;
  booking.reason_code = std::move(reason.code);
  booking.reason_message = std::move(reason.message);
  record(tx, booking, Happening::FAILED, cause);
  tell(tx, booking, "booking.failed", cause);
}

void Lifecycle::record(Transaction& tx, Booking& booking, Happening what, const Cause& cause) {
  booking.updated_at = tx.now();
  tx.enqueue_save(booking);
  tx.enqueue_insert(
      History{booking.id, booking.version, what, cause.actor, booking.reason_code, booking.reason_message, tx.now()});
  // A transaction may run several times: told is what was committed.
  tx.after_commit([env = env_, publish = options_.publish, booking, what, actor = cause.actor] {
    golf::log(env, actor == "course" ? "[SagaHandler]" : "[Saga]", "booking " + std::string(skald::enum_name(what)),
              booking.id, {{"number", booking.number}, {"actor", actor}, {"reason", booking.reason_code.value_or("")}});
    publish("booking/" + booking.id);
  });
}

// Once: the event's id is the booking's, and the flag says that it is there.
void Lifecycle::release(Transaction& tx, Booking& booking, const Cause& cause) {
  const bool once = skald::seam::holds(Rule::released_under_one_id);
  if (booking.release_sent && once) return;
  booking.release_sent = true;
  tx.emit({.id = once ? booking.id + ".release" : "",
           .type = "slot.release",
           .key = booking.slot_id,
           .subject = booking.id,
           .payload = skald::to_json(golf::SlotRelease{booking.id, booking.slot_id}),
           .traceparent = cause.traceparent});
}

void Lifecycle::tell(Transaction& tx, const Booking& booking, const std::string& type, const Cause& cause) {
  tx.emit({.id = booking.id + "." + type,
           .type = type,
           .key = booking.id,
           .subject = booking.id,
           .payload = skald::to_json(news_of(booking)),
           .traceparent = cause.traceparent});
}

}  // namespace booking
