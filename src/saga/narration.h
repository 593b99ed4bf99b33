// What the log says of a saga that meets trouble: one line when it is busy, stale or fails, when it turns back, and when
// it is undone. What goes well is told by the services, which know what it means.
#pragma once

#include "saga/instance.h"
#include "skald/env.h"

namespace skald::saga {

// Behind the commit that brought `saga` from `before` to `after`; `wakes_in`: when it goes on by itself.
void narrate(Observer& observer, const Instance& before, const Instance& saga, After after,
             std::optional<Duration> wakes_in);

}  // namespace skald::saga
