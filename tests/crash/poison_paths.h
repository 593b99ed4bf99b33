// The order process's own poison: two sagas with a step, and a consumer, that take it with them.
#pragma once

#include "http/router.h"
#include "skald/engine.h"

namespace skald::crash {

// Before engine.start(); the engine outlives the routes.
void add_poison_paths(http::Routes& routes, Engine& engine);

}  // namespace skald::crash
