// What the service's paths register. `db` and what `env` refers to outlive the router.
#pragma once

#include "skald/database.h"
#include "skald/engine.h"
#include "skald/http.h"

namespace course {

void add_course_paths(skald::Database& db, skald::Router& router, skald::Env env);
void add_slot_paths(skald::Database& db, skald::Router& router, skald::Env env);
void add_reservation_paths(skald::Database& db, skald::Router& router);
void add_story(skald::Engine& engine);

}  // namespace course
