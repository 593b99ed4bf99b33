// The saga order.cancel: note the wish (cancellation PENDING) -> hold the order -> refund (the
// pivot) -> give back stock -> CANCELLED (DONE). An order that is being placed is held by its
// saga: this one waits for its end as long as the placement has time, or is told BUSY.
//
// | what happens                                        | what becomes of the wish             |
// | it is known at once that the order cannot be cancelled | the request is refused, no trace  |
// | the order ends FAILED while the wish waits          | FAILED NOT_CANCELLABLE               |
// | the order is held for longer than its deadline      | FAILED BUSY: by whom                 |
// | the provider is away                                | tried again as long, then FAILED with its reason |
// | the provider does not give the money back           | FAILED REFUND_DECLINED               |
// | the provider's answer is lost                       | asked again by the same key; then a person is called |
#pragma once

#include <memory>

#include "order/payments.h"
#include "order/record.h"
#include "skald/saga.h"

namespace order {

inline constexpr std::string_view kNoReason = "no reason was given";

struct CancelOrder {
  std::string order_id;
  BusyChoice when_busy = BusyChoice::wait;
  std::vector<Item> items;             // set when the order is held, with the charge
  std::optional<std::string> charge, refund;
  std::optional<std::int64_t> version;  // of the order, as this saga has left it
  std::optional<std::string> reason;    // the customer's words
};
BOOST_DESCRIBE_STRUCT(CancelOrder, (), (order_id, when_busy, items, charge, refund, version, reason))

// What `env` refers to must outlive the sagas.
struct CancelTiming {
  skald::Duration call_timeout, deadline;  // of one call; of the order that may be in the way
};
skald::Saga<CancelOrder> cancel_order_saga(skald::Env env, const std::shared_ptr<Payments>& payments,
                                           const CancelTiming& timing);

// What it was before it noted the wish: those in flight go on as the one above.
skald::Saga<CancelOrder> first_cancel_order_saga(skald::Env env, const std::shared_ptr<Payments>& payments,
                                                 const CancelTiming& timing);

}  // namespace order
