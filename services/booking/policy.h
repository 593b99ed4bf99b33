// Who may cancel when, and what is paid back.
#pragma once

#include <cstdint>

#include "skald/time.h"

namespace booking {

// The part of the price, in percent, that a customer who cancels so long before the start
// gets back: 7 days or more 100, 3 days 80, 1 day 50, then `last_day`.
std::int64_t customer_refund_percent(skald::Duration before_start, std::int64_t last_day);

// Half a minor unit is rounded up, for the customer.
std::int64_t share_of(std::int64_t amount, std::int64_t percent);

}  // namespace booking
