// The booking system: course, booking and notify, each on an engine of its own, and the post between them.
#pragma once

#include "booking/booking.h"
#include "bus/nats/options.h"
#include "host/unit.h"
#include "http/router.h"

namespace skald::host {

// Those of this process; null: it runs in another one.
struct BookingUnits {
  Unit *booking = nullptr, *course = nullptr, *notify = nullptr;
};

// What takes a unit's letters in and answers questions about them: its engine, unless a test stands in front of it.
using Taking = std::function<PostHandlers(Unit& unit)>;
PostHandlers take_by_engine(Unit& unit);

// Letters go from engine to engine within this process. All units are here.
void connect_in_process(const BookingUnits& units, const Taking& taking = take_by_engine);

// Letters go over NATS, also between units of this process. Invalid (NATS_…) for settings that cannot work.
void connect_by_nats(Env env, const BookingUnits& units, const NatsOptions& server,
                     const Taking& taking = take_by_engine);

struct BookingSurroundings {
  booking::Options booking = {};   // but for `ask` where course is in this process
  Bus* notifications = nullptr;    // carries what customers are told, or is null
  int lock_tries = 3;              // of course, to take seats of a slot that others change meanwhile
};

// Installs what is in this process. `routes` and `around` outlive the engines' threads.
void install_booking_system(Env env, const BookingUnits& units, http::Routes& routes, BookingSurroundings around);

}  // namespace skald::host
