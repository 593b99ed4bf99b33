// What an error thrown on the way to a receiver means for the event: Refused and
// Invalid cannot get better by trying again, everything else may.
#pragma once

#include "skald/bus.h"

namespace skald {

// Only inside of a catch block: reads the exception that is being handled.
Outcome outcome_of_current_exception();

}  // namespace skald
