// When an event that failed is tried again: 30 s, 60 s, 120 s, … with a share of
// chance on top, or later where the receiver asked for it.
#pragma once

#include <optional>

#include "skald/env.h"
#include "skald/outbox.h"

namespace skald::outbox {

// `failures` is 1 after the first failed attempt.
Duration backoff(const OutboxOptions& options, int failures, std::optional<Duration> asked_for, Random& random);

}  // namespace skald::outbox
