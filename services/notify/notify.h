// The notify service of the booking system: tells a customer, once each, that a booking is
// confirmed, has failed or is cancelled.
//
//   notify::install(engine, router, env, {.webhook = &webhooks});
//   engine.start();
//
// Takes booking.confirmed, booking.failed and booking.cancelled (golf/events.h).
// Path: GET /booking/bookings/{id}/notifications.
#pragma once

#include <span>

#include "skald/bus.h"
#include "skald/database.h"
#include "skald/engine.h"
#include "skald/env.h"
#include "skald/http.h"

namespace notify {

struct Options {
  // Carries notification.sent {id, bookingId, customer, kind, text, at}; outlives the engine.
  // Null: what would be sent is a line of the log.
  skald::Bus* webhook = nullptr;
};

// Component "notify". Its table stands beside the engine's in one database.
std::span<const skald::Migration> migrations();

// Brings the schema up to date, adds the consumer notify, the route to the webhook and the
// path. Before engine.start(); engine, router and what `env` refers to must live as long as
// requests come.
void install(skald::Engine& engine, skald::Router& router, skald::Env env, const Options& options);

}  // namespace notify
