#include "booking/policy.h"

namespace booking {

std::int64_t customer_refund_percent(skald::Duration before_start, std::int64_t last_day) {
  using std::chrono::days;
  if (before_start >= days(7)) return 100;
  if (before_start >= days(3)) return 80;
  if (before_start >= days(1)) return 50;
  return last_day;
}

std::int64_t share_of(std::int64_t amount, std::int64_t percent) { return (amount * percent + 50) / 100; }

}  // namespace booking
