// The order service under chaos: see order_chaos.cc.
#pragma once

#include "chaos/options.h"

namespace skald::chaos {

// The exit status.
int run_orders(const Options& options);

}  // namespace skald::chaos
