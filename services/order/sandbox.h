// The sandbox payment provider: a provider that misbehaves as it is told, so that the
// hard cases of a payment are real. A process of its own, with data of its own.
#pragma once

#include "order/order.h"

namespace order {

// Registers the paths of provider_api.h. Its tables are component "sandbox".
void install_sandbox(skald::Database& db, skald::Router& router, skald::Env env, const skald::Pause& pause);

}  // namespace order
