// The booking system: course, booking and notify, each on an engine of its own, and what
// goes between them.
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

// Calls `carry` for each type of event that goes from one unit to another; null: to or from
// another process.
void each_way(const BookingUnits& units,
              const std::function<void(Unit* from, const std::string& type, Unit* to)>& carry);

// Takes events in at a unit.
using Landing = std::function<void(Unit& to, std::span<const Message> messages)>;
void land_in_engine(Unit& to, std::span<const Message> messages);

inline constexpr int kEventTries = 5;  // in all, unless it is set

// Carries events over the units' buses, within this process. All of them are here.
void connect_in_process(const BookingUnits& units, const Landing& land = land_in_engine, int tries = kEventTries);

// Carries all events over NATS, also those between units of this process: on a stream for each
// service that emits. Invalid (NATS_…, RETENTION_TOO_SHORT) for settings that cannot work.
void connect_by_nats(Env env, const BookingUnits& units, const NatsOptions& server,
                     const Landing& land = land_in_engine, int tries = kEventTries);

struct BookingSurroundings {
  booking::Options booking = {};   // but for `ask` where course is in this process
  Bus* notifications = nullptr;    // carries what customers are told, or is null
  int lock_tries = 3;              // of course, to take seats of a slot that others change meanwhile
};

// Installs what is in this process. `routes` and `around` outlive the engines' threads.
void install_booking_system(Env env, const BookingUnits& units, http::Routes& routes, BookingSurroundings around);

}  // namespace skald::host
