// How the settings `bus` and `nats.…` say to reach NATS.
#pragma once

#include "bus/nats/options.h"
#include "cli/settings.h"

namespace skald::host {

// False: memory:, events stay in this process. Invalid (BAD_SETTING) where `bus` is neither.
bool uses_nats(const cli::Settings& settings);

// Invalid (BAD_SETTING) where `nats.…` contradict each other; what else cannot work is said by
// who connects.
NatsOptions nats_options(const cli::Settings& settings);

}  // namespace skald::host
