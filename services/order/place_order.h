// The saga order.place: create order (PENDING) -> price order -> reserve stock -> charge
// (the pivot) -> confirm stock -> confirm order. From its first commit to its end it holds
// the order, so that nobody cancels what is being placed, and its products: shared, since
// its updates commute, or alone where that was asked for. Prices are held by nobody: where
// one has changed before the units are reserved, the order is priced anew.
#pragma once

#include <memory>

#include "order/payments.h"
#include "order/record.h"
#include "skald/saga.h"

namespace order {

struct PlaceOrder {
  std::string order_id, customer;
  std::vector<Item> items;               // a sku at most once
  LockChoice locking = LockChoice::none;
  BusyChoice when_busy = BusyChoice::wait;
  std::int64_t amount = 0;               // set by the first step, and by pricing
  std::string currency;
  std::optional<std::string> charge;     // the provider's id
  std::optional<std::int64_t> version;   // of the order, as this saga has left it
};
BOOST_DESCRIBE_STRUCT(PlaceOrder, (),
                      (order_id, customer, items, locking, when_busy, amount, currency, charge, version))

// What `env` refers to must outlive it. Orders that end BUSY or SOLD_OUT are counted.
skald::Saga<PlaceOrder> place_order_saga(skald::Env env, std::shared_ptr<Payments> payments,
                                         skald::Duration call_timeout, skald::Duration deadline);

// What a saga does where a lock is not free.
skald::WhenBusy when_busy_of(BusyChoice choice);

}  // namespace order
