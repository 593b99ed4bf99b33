// The booking system: course, booking and notify, each on an engine of its own, and what
// goes between them.
#pragma once

#include "booking/booking.h"
#include "host/unit.h"
#include "http/router.h"

namespace skald::host {

struct BookingUnits {
  Unit &booking, &course, &notify;
};

// Calls `carry` for each type of event that goes from one unit to another.
void each_way(const BookingUnits& units,
              const std::function<void(Unit& from, const std::string& type, Unit& to)>& carry);

// Carries events over the units' buses, within this process.
void connect_in_process(const BookingUnits& units);

// `options` but for `ask`, which is answered by `routes` here. `notifications` carries what
// customers are told, or is null. All of it outlives the engines' threads.
void install_booking_system(Env env, const BookingUnits& units, http::Routes& routes, booking::Options options,
                            Bus* notifications);

}  // namespace skald::host
