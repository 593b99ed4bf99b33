#include "booking/creation.h"

namespace booking {

using skald::Local;

// What "create" undoes was done by the transaction that began the saga.
skald::Saga<Creation> creation_saga(const std::shared_ptr<Lifecycle>& lifecycle, skald::Duration timeout) {
  return skald::Saga<Creation>("booking.create")
      .local("create", [](Local&, Creation&) {})
      .undo([lifecycle](Local& step, Creation& saga) {
        lifecycle->expire(step.tx(), saga.booking_id, {.actor = "system"});
      })
      .writes("booking", skald::Guard::row_lock)
      .await("seats", "answered", [](Local&, Creation&, const skald::RawJson&) {})
      .timeout(timeout);
}

}  // namespace booking
