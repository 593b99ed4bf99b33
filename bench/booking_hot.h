// One slot that everybody wants.
#pragma once

#include "booking_site.h"

namespace bench {

// So many customers book one seat each of a slot with a hundred. Seconds from when the last of them asks to when nobody
// waits any longer. Throws where one is neither accepted nor told that the slot is full.
double hot_slot_seconds(const BookingSite& site, int customers);

}  // namespace bench
