// The order service: orders, stock and payments, and what keeps sagas on one product
// from corrupting each other's work. Each anomaly can be made to happen in its lab.
//
//   order::install(engine, router, env, {.provider = "http://127.0.0.1:8090"});
//   engine.start();
//
// Paths: GET, POST /order/products · GET …/{sku} · POST …/{sku}/restock · POST …/{sku}/price ·
// GET …/{sku}/versions · GET, POST /order/orders · GET …/{id} · POST …/{id}/cancel · GET …/{id}/events ·
// GET /order/payments · GET, PUT /order/provider · POST /order/lab · GET /order/invariants.
#pragma once

#include <span>
#include <string>

#include "skald/database.h"
#include "skald/engine.h"
#include "skald/env.h"
#include "skald/http.h"
#include "skald/optimistic.h"

namespace order {

struct Options {
  std::string provider;  // base URL of the payment provider; empty: there is none to call
  skald::Duration call_timeout = std::chrono::seconds(10);  // of one call to it
  // Of an order that is being placed. Who wants it cancelled meanwhile waits as long, and a refund is tried as long.
  skald::Duration deadline = std::chrono::seconds(60);
  skald::Pause pause;  // waits: for a free permit, for the end of a saga of the lab
  std::string events_topic = "order";  // published when orders may have changed
};

// Component "order". Its tables stand beside the engine's in one database.
std::span<const skald::Migration> migrations();

// Brings the schema up to date, adds the sagas order.place, order.cancel and order.lab,
// registers the paths and the reconciler. Before engine.start(); engine, router and what `env`
// refers to must live as long as requests come. Invalid (BAD_PROVIDER) where the URL
// is none.
void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options);

}  // namespace order
