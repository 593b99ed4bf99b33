// The booking service: bookings, their history, the ledger, and a copy of the tee times
// that belong to course. A booking is a saga of events: it asks course for seats, and is
// confirmed or fails by what course answers, or by time.
//
//   booking::install(engine, router, env, {.ask = …});
//   engine.start();
//
// Paths: GET, POST /booking/bookings · GET …/{id} · POST …/{id}/cancel · /complete · /no-show ·
// GET …/{id}/history · /events · GET /booking/ledger · GET /booking/invariants.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "golf/ask.h"
#include "skald/database.h"
#include "skald/engine.h"
#include "skald/env.h"

namespace booking {

struct Options {
  golf::Ask ask = {};  // course
  std::function<void(std::string_view topic)> publish = [](std::string_view) {};  // wakes the streams of a booking
  skald::Duration timeout = std::chrono::seconds(60);  // that a booking may be PENDING
  std::int64_t refund_last_day = 0;                    // percent, under 24 hours before the start
  std::int64_t charge_max = 0;                         // minor units; what costs more is declined; 0: nothing is
};

// Component "booking". Its tables stand beside the engine's in a database of their own.
std::span<const skald::Migration> migrations();

// Before engine.start(); engine, router and what `env` refers to must live as long as
// requests come.
void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options);

}  // namespace booking
