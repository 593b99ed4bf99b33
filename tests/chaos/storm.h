// Donations and orders under a storm of kills: see storm.cc.
#pragma once

#include "chaos/options.h"

namespace skald::chaos {

// The exit status.
int run_storm(const Options& options);
// With a step or a handler that kills its process, so many times: see storm_poison.cc.
int run_poison(const Options& options);

}  // namespace skald::chaos
