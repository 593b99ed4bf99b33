// How the settings `bus` and `nats.…` say to reach NATS.
#pragma once

#include "bus/nats/options.h"
#include "cli/settings.h"

namespace skald::host {

// False: memory:, events stay in this process. Invalid (BAD_SETTING) where `bus` is neither.
bool uses_nats(const cli::Settings& settings);

// Invalid (BAD_SETTING) where `nats.…` contradict each other; what else cannot work is said by
// who connects, Invalid (NATS_…).
NatsOptions nats_options(const cli::Settings& settings);

// What is made of them and cannot work is theirs, too: Invalid (BAD_SETTING).
template <class F>
auto as_set(F&& make) {
  try {
    return make();
  } catch (const Invalid& error) {
    throw Invalid("BAD_SETTING", error.what());
  }
}

}  // namespace skald::host
