// The status of an order, changed only where the order is as its saga has left it.
#pragma once

#include <optional>
#include <string>

#include "order/history.h"
#include "order/record.h"
#include "skald/optimistic.h"
#include "skald/saga.h"

namespace order {

// `version` is the one that the saga wrote last, and the one that it has written now. Stale
// (STALE_ROW) where somebody else has changed the order in between, though the saga holds it:
// the step is tried again, and then a person is called.
inline void change_status(const Journal& journal, skald::Local& step, const std::string& order_id,
                          std::optional<std::int64_t>& version, Status status,
                          const std::optional<std::string>& detail = std::nullopt) {
  if (!version) {  // begun by a program that did not remember it
    const auto order = step->find<Order>(order_id);
    version = order ? order->version : 0;
  }
  version = skald::update_if_unchanged<&Order::status, &Order::updated_at>(step.tx(), order_id, *version, status,
                                                                           step->now());
  journal.note(step, order_id, skald::enum_name(status), detail);
}

}  // namespace order
