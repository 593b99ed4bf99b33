// The course service of the booking system: courses, tee times and who has seats in them.
//
//   course::install(engine, router, env, {.pause = pause});
//   engine.start();
//
// Takes slot.reserve and slot.release; tells slot.reserved, slot.reserve.failed, slot.released
// and slot.changed (golf/events.h).
// Paths: GET, POST /booking/courses · GET …/{id} · GET, POST /booking/slots · GET …/{id} ·
// POST …/{id}/close · POST …/{id}/open · GET /booking/reservations · GET /booking/course/invariants.
#pragma once

#include <span>

#include "skald/database.h"
#include "skald/engine.h"
#include "skald/env.h"
#include "skald/http.h"
#include "skald/optimistic.h"

namespace course {

struct Options {
  skald::Pause pause;  // waits between two tries to reserve; never called on SQLite, where nobody comes in between
  int lock_tries = 3;  // in all, to take seats of a slot that others change meanwhile
};

// Component "course". Its tables stand beside the engine's in one database.
std::span<const skald::Migration> migrations();

// Brings the schema up to date, adds the consumers course.reserve and course.release and
// registers the paths. Before engine.start(); engine, router and what `env` refers to must
// live as long as requests come.
void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options);

}  // namespace course
