#include "booking/creation.h"

namespace booking {

using skald::Local;

skald::Saga<Creation> creation_saga(const std::shared_ptr<Lifecycle>& lifecycle, skald::Duration timeout) {
  return skald::Saga<Creation>("booking.create")
      .given("create")
      .undo([lifecycle](Local& step, Creation& saga) {
        lifecycle->expire(step.tx(), saga.booking_id, {.actor = "system"});
      })
      .writes("booking", skald::Guard::row_lock)
      .await("seats", "answered")
      .timeout(timeout);
}

}  // namespace booking
