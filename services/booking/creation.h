// The saga of a booking: begun in the transaction that creates it, it waits for course's
// answer and fails the booking when none comes in time. Its id is the booking's.
#pragma once

#include <memory>
#include <string>

#include "booking/lifecycle.h"
#include "skald/saga.h"

namespace booking {

struct Creation {
  std::string booking_id;
};
BOOST_DESCRIBE_STRUCT(Creation, (), (booking_id))

skald::Saga<Creation> creation_saga(const std::shared_ptr<Lifecycle>& lifecycle, skald::Duration timeout);

}  // namespace booking
