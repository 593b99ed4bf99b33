// What the service's path registers. `db` outlives the router.
#pragma once

#include "skald/database.h"
#include "skald/engine.h"
#include "skald/http.h"

namespace notify {

void add_paths(skald::Database& db, skald::Router& router);
void add_story(skald::Engine& engine);

}  // namespace notify
