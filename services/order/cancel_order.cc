#include "order/cancel_order.h"

#include "order/order_status.h"
#include "order/place_order.h"
#include "order/stock.h"

namespace order {
namespace {

using skald::Local;
using skald::Refused;
using skald::Remote;

constexpr skald::Duration kRefundPause = std::chrono::milliseconds(100);

[[noreturn]] void refuse(const std::string& order_id, std::optional<Status> status) {
  if (!status) throw Refused("NOT_CANCELLABLE", "there is no order " + order_id);
  if (*status == Status::FAILED)
    throw Refused("NOT_CANCELLABLE", "the order has failed by itself and costs nothing: there is nothing to cancel");
  throw Refused("NOT_CANCELLABLE", "order " + order_id + " is " + std::string(skald::enum_name(*status)) +
                                       ": only a confirmed order can be cancelled");
}

// Seen by everybody from this commit on. By plain SQL: whoever holds the order loses nothing by it, and what is read
// here is looked at again when it is held.
void note_wish(const Journal& journal, Local& step, CancelOrder& cancelled) {
  const std::string reason = cancelled.reason.value_or(std::string(kNoReason));
  const bool noted =
      step->execute(
          "UPDATE order_record SET cancel_saga = $2, cancel_status = $3, cancel_reason = $4, cancel_code = NULL, "
          "cancel_message = NULL, updated_at = $5 WHERE id = $1 AND status IN ('PENDING', 'CONFIRMED')",
          cancelled.order_id, step.saga_id(), CancelStatus::PENDING, reason, step->now()) == 1;
  if (!noted) {
    const skald::Rows found = step->query("SELECT status FROM order_record WHERE id = $1", cancelled.order_id);
    refuse(cancelled.order_id, found.empty() ? std::nullopt : std::optional(found.get<Status>(0, 0)));
  }
  journal.note(step, cancelled.order_id, "CANCEL_REQUESTED", reason);
}

// Nothing of it happened, and everybody who was told that it would can see why.
void fail_cancellation(const Journal& journal, Local& step, CancelOrder& cancelled) {
  const skald::SagaError why = step.context().failure.value_or(skald::SagaError{"UNKNOWN", "no reason is known"});
  const bool failed =
      step->execute(
          "UPDATE order_record SET cancel_status = $3, cancel_code = $4, cancel_message = $5, "
          "updated_at = $6 WHERE id = $1 AND cancel_saga = $2 AND cancel_status = 'PENDING'",
          cancelled.order_id, step.saga_id(), CancelStatus::FAILED, why.code, why.message, step->now()) == 1;
  if (failed) journal.note(step, cancelled.order_id, "CANCEL_FAILED", why.code + ": " + why.message);
}

void look_at_order(const Journal& journal, Local& step, CancelOrder& cancelled) {
  const auto order = step->find<Order>(cancelled.order_id);
  if (!order || order->status != Status::CONFIRMED)
    refuse(cancelled.order_id, order ? std::optional(order->status) : std::nullopt);
  const auto payments = step->select<Payment>("WHERE order_id = $1 AND status = 'CHARGED'", cancelled.order_id);
  if (payments.size() != 1)
    throw Refused("NO_PAYMENT", "order " + cancelled.order_id + " has no payment to refund: look at /order/invariants");
  cancelled.items = items_of(*order);
  cancelled.charge = payments[0].id;
  if (order->cancel_saga != step.saga_id()) note_wish(journal, step, cancelled);
  cancelled.version =
      skald::update_if_unchanged<&Order::cancel_saga>(step.tx(), cancelled.order_id, order->version, step.saga_id());
}

void give_back_stock(const Journal& journal, Local& step, CancelOrder& cancelled) {
  step->enqueue("UPDATE order_payment SET status = $2, refund_id = $3, refunded_at = $4 WHERE id = $1",
                *cancelled.charge, PaymentStatus::REFUNDED, cancelled.refund, step->now());
  journal.note(step, cancelled.order_id, "REFUNDED");
  give_back(step.tx(), {step.saga_id(), cancelled.order_id}, cancelled.items);
  say_freed(step, cancelled.items);
}

void cancel_order(const Journal& journal, Local& step, CancelOrder& cancelled) {
  change_status(journal, step, cancelled.order_id, cancelled.version, Status::CANCELLED, cancelled.reason);
  step->enqueue("UPDATE order_record SET cancel_status = $3 WHERE id = $1 AND cancel_saga = $2", cancelled.order_id,
                step.saga_id(), CancelStatus::DONE);
}

// A step that writes what happens to the order.
auto noted(const Journal& journal, void (*run)(const Journal&, Local&, CancelOrder&)) {
  return [journal, run](Local& step, CancelOrder& cancelled) { run(journal, step, cancelled); };
}

// How often it is tried until about `time` has passed, at `first` x attempt between.
int tries_within(skald::Duration time, skald::Duration first) {
  int tries = 1;
  for (skald::Duration passed{}; passed < time; ++tries) passed += first * tries;
  return tries;
}

// Who waits, waits for as long as the one that is in the way may take.
skald::WhenBusy waiting(BusyChoice choice, skald::Duration deadline) {
  return choice == BusyChoice::wait ? skald::wait_up_to(deadline) : when_busy_of(choice);
}

void add_refund(skald::Saga<CancelOrder>& saga, const Journal& journal, const std::shared_ptr<Payments>& payments,
                const CancelTiming& timing) {
  using skald::Guard;
  const int tries = tries_within(timing.deadline, kRefundPause);
  saga.holds(
          "order", &CancelOrder::order_id, skald::exclusive,
          [deadline = timing.deadline](const CancelOrder& cancelled) { return waiting(cancelled.when_busy, deadline); })
      .reads("order")
      .reads("payment")
      .writes("order", Guard::optimistic)
      .remote("refund",
              [payments](Remote& step, CancelOrder& cancelled) {
                cancelled.refund = payments->refund(step, *cancelled.charge);
              })
      .retry(tries, kRefundPause)
      .timeout(timing.call_timeout)
      .pivot()
      .writes("payment", Guard::idempotency_key)
      .local("give back stock", noted(journal, give_back_stock))
      .writes("payment", Guard::idempotency_key)
      .writes("product", Guard::commutative)
      .local("cancel order", noted(journal, cancel_order))
      .writes("order", Guard::optimistic)
      .deadline(3 * timing.deadline + tries * timing.call_timeout);  // a net: the wait and the tries end by themselves
}

}  // namespace

skald::Saga<CancelOrder> cancel_order_saga(skald::Env env, const std::shared_ptr<Payments>& payments,
                                           const CancelTiming& timing) {
  const Journal journal(env.observer);
  skald::Saga<CancelOrder> saga("order.cancel");
  saga.version(2)
      .migrates_from(1, [](const skald::saga::Migrated& old) { return old; })
      .local("note wish", noted(journal, note_wish))
      .undo(noted(journal, fail_cancellation))
      .undo(skald::by_rollback)
      .when([](const CancelOrder& cancelled) { return cancelled.when_busy != BusyChoice::reject; })
      .writes("cancellation", skald::Guard::commutative)
      .local("look at order", noted(journal, look_at_order))
      .undo(noted(journal, fail_cancellation))
      .undo(skald::by_rollback);
  add_refund(saga, journal, payments, timing);
  return saga;
}

skald::Saga<CancelOrder> first_cancel_order_saga(skald::Env env, const std::shared_ptr<Payments>& payments,
                                                 const CancelTiming& timing) {
  const Journal journal(env.observer);
  skald::Saga<CancelOrder> saga("order.cancel");
  saga.local("look at order", noted(journal, look_at_order)).nothing_to_undo();
  add_refund(saga, journal, payments, timing);
  return saga;
}

}  // namespace order
