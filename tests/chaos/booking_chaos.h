// The booking system under chaos: see booking_chaos.cc.
#pragma once

#include "chaos/options.h"

namespace skald::chaos {

// The exit status.
int run_bookings(const Options& options);

}  // namespace skald::chaos
