// What the paths of this service share. Kept alive by the handlers that hold it.
#pragma once

#include <memory>

#include "order/cancel_order.h"
#include "order/lab_sagas.h"
#include "order/order.h"
#include "order/place_order.h"

namespace order {

struct Shop {
  skald::Engine& engine;
  skald::Env env;
  Options options;
  std::shared_ptr<Payments> payments;
  skald::Saga<PlaceOrder> place;
  skald::Saga<CancelOrder> cancel;
  skald::Saga<LabWork> lab;

  skald::Database& db() const { return engine.database(); }
};
using ShopHandle = std::shared_ptr<const Shop>;

void add_product_paths(const ShopHandle& shop, skald::Router& router);
void add_order_paths(const ShopHandle& shop, skald::Router& router);
void add_order_events(const ShopHandle& shop, skald::Router& router);
void add_payment_paths(const ShopHandle& shop, skald::Router& router);
void add_lab(const ShopHandle& shop, skald::Router& router);
void add_story(const ShopHandle& shop);
void add_invariants(const ShopHandle& shop, skald::Router& router);

}  // namespace order
