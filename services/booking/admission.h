// Whether a booking can go well, before anything is written. What the copy of the tee times
// would refuse may only be old news: it is refused when course says so, too.
#pragma once

#include "booking/desk.h"
#include "booking/views.h"

namespace booking {

// The request's booking, its customer filled in. Invalid (BAD_SLOT_ID, BAD_PLAYERS,
// BAD_CUSTOMER), Forbidden (NOT_YOURS).
Wanted wanted_by(const skald::Request& request);

// NotFound SLOT_NOT_FOUND; Conflict SLOT_CLOSED, SLOT_FULL; Invalid BAD_PLAYERS, SLOT_STARTED;
// Unavailable where course would have to be asked and does not answer.
void admit(const Desk& desk, const skald::Request& request);

}  // namespace booking
