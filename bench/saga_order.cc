#include "saga_order.h"

#include "measure.h"
#include "workload.h"

namespace bench {
namespace {

constexpr double kProviderSeconds = 0.002;

void tell(skald::Local& step, const char* type, const PlaceOrder& order) {
  step->emit({.type = type, .key = step.saga_id(), .payload = payload_of(order.number)});
}

void create_order(skald::Local& step, PlaceOrder& order) { step->enqueue(kCreateOrder, step.saga_id(), order.sku); }

void cancel_order(skald::Local& step, PlaceOrder& order) {
  step->enqueue(kCancelOrder, step.saga_id());
  tell(step, kOrderCancelled, order);
}

void reserve_stock(skald::Local& step, PlaceOrder& order) {
  if (step->execute(kReserveStock, order.sku) != 1) throw skald::Refused("SOLD_OUT", "there is not enough of it");
}

void release_stock(skald::Local& step, PlaceOrder& order) { step->enqueue(kReleaseStock, order.sku); }

void take_payment(skald::Local& step, PlaceOrder& order) {
  if (order.declined) throw skald::Refused("DECLINED", "the card was declined");
  step->enqueue(kTakePayment, step.saga_id());
  tell(step, kOrderPlaced, order);
}

}  // namespace

skald::Saga<PlaceOrder> order_saga(Commits commits) {
  skald::Saga<PlaceOrder> saga("bench.order");
  const auto boundary = [&] {
    if (commits == Commits::every_step) saga.commit();
  };
  saga.local("create order", create_order).undo(cancel_order);
  boundary();
  saga.local("reserve stock", reserve_stock).undo(release_stock);
  boundary();
  saga.local("take payment", take_payment).nothing_to_undo();
  return saga;
}

skald::Saga<PlaceOrder> hot_order_saga(skald::LockMode mode) {
  return skald::Saga<PlaceOrder>("bench.hot_order")
      .local("create order", create_order)
      .undo(cancel_order)
      .holds(
          "product", [](const PlaceOrder& order) { return std::to_string(order.sku); }, mode,
          skald::wait_up_to(std::chrono::minutes(1)))
      .local("reserve stock", reserve_stock)
      .undo(release_stock)
      .remote("ask the provider", [](skald::Remote&, PlaceOrder&) { sleep_for_seconds(kProviderSeconds); })
      .pivot()
      .local("take payment", take_payment);
}

skald::Saga<Sleeper> sleeper_saga(std::function<void(const Sleeper&)> woken) {
  return skald::Saga<Sleeper>("bench.sleeper")
      .local("lie down",
             [](skald::Local& step, Sleeper& sleeper) { sleeper.due = skald::to_micros(step->now()) + sleeper.sleep; })
      .nothing_to_undo()
      .sleep("sleep", [](const Sleeper& sleeper) { return skald::Duration(sleeper.sleep); })
      .local("wake", [woken](skald::Local&, Sleeper& sleeper) { woken(sleeper); })
      .nothing_to_undo();
}

}  // namespace bench
