#include "order/cancel_order.h"

#include "order/order_status.h"
#include "order/place_order.h"
#include "order/stock.h"

namespace order {
namespace {

using skald::Local;
using skald::Refused;
using skald::Remote;

void look_at_order(Local& step, CancelOrder& cancelled) {
  const auto order = step->find<Order>(cancelled.order_id);
  if (!order || order->status != Status::CONFIRMED)
    throw Refused("NOT_CANCELLABLE", "order " + cancelled.order_id + " is " +
                                         (order ? std::string(skald::enum_name(order->status)) : "not there") +
                                         ": only a confirmed order can be cancelled");
  const auto payments = step->select<Payment>("WHERE order_id = $1 AND status = 'CHARGED'", cancelled.order_id);
  if (payments.size() != 1)
    throw Refused("NO_PAYMENT", "order " + cancelled.order_id + " has no payment to refund: look at /order/invariants");
  cancelled.items = items_of(*order);
  cancelled.charge = payments[0].id;
  cancelled.version =
      skald::update_if_unchanged<&Order::cancel_saga>(step.tx(), cancelled.order_id, order->version, step.saga_id());
}

void give_back_stock(Local& step, CancelOrder& cancelled) {
  step->enqueue("UPDATE order_payment SET status = $2, refund_id = $3, refunded_at = $4 WHERE id = $1",
                *cancelled.charge, PaymentStatus::REFUNDED, cancelled.refund, step->now());
  note(step.tx(), cancelled.order_id, step.saga_id(), "REFUNDED");
  give_back(step.tx(), {step.saga_id(), cancelled.order_id}, cancelled.items);
  say_freed(step, cancelled.items);
}

void cancel_order(Local& step, CancelOrder& cancelled) {
  change_status(step, cancelled.order_id, cancelled.version, Status::CANCELLED);
}

}  // namespace

skald::Saga<CancelOrder> cancel_order_saga(std::shared_ptr<Payments> payments, skald::Duration call_timeout) {
  using skald::Guard;
  return skald::Saga<CancelOrder>("order.cancel")
      .local("look at order", look_at_order)
      .nothing_to_undo()
      .holds("order", &CancelOrder::order_id, skald::exclusive,
             [](const CancelOrder& cancelled) { return when_busy_of(cancelled.when_busy); })
      .reads("order")
      .reads("payment")
      .writes("order", Guard::optimistic)
      .remote("refund",
              [payments](Remote& step, CancelOrder& cancelled) {
                cancelled.refund = payments->refund(step, *cancelled.charge);
              })
      .retry(3, std::chrono::milliseconds(100))
      .timeout(call_timeout)
      .pivot()
      .writes("payment", Guard::idempotency_key)
      .local("give back stock", give_back_stock)
      .writes("payment", Guard::idempotency_key)
      .writes("product", Guard::commutative)
      .local("cancel order", cancel_order)
      .writes("order", Guard::optimistic)
      .deadline(std::chrono::seconds(60));
}

}  // namespace order
