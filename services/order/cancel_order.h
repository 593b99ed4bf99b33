// The saga order.cancel: refund -> give back stock -> CANCELLED. An order that is being
// placed is held by its saga: this one waits for its end, or is told BUSY.
#pragma once

#include <memory>

#include "order/payments.h"
#include "order/record.h"
#include "skald/saga.h"

namespace order {

struct CancelOrder {
  std::string order_id;
  BusyChoice when_busy = BusyChoice::wait;
  std::vector<Item> items;             // set by the first step, with the charge
  std::optional<std::string> charge, refund;
  std::optional<std::int64_t> version;  // of the order, as this saga has left it
};
BOOST_DESCRIBE_STRUCT(CancelOrder, (), (order_id, when_busy, items, charge, refund, version))

skald::Saga<CancelOrder> cancel_order_saga(std::shared_ptr<Payments> payments, skald::Duration call_timeout);

}  // namespace order
