#include "order/order.h"
#include "order/shop.h"

namespace order {

void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options) {
  skald::Database& db = engine.database();
  db.migrate("order", migrations());
  const auto payments = std::make_shared<Payments>(env, db, options.provider, options.pause);
  const CancelTiming timing{options.call_timeout, options.deadline};
  const auto shop = std::make_shared<const Shop>(
      Shop{engine, env, options, payments, place_order_saga(env, payments, options.call_timeout, options.deadline),
           cancel_order_saga(env, payments, timing), lab_saga()});
  engine.sagas().add(shop->place);
  engine.sagas().add(first_cancel_order_saga(env, payments, timing));
  engine.sagas().add(shop->cancel);
  engine.sagas().add(shop->lab);
  add_product_paths(shop, router);
  add_order_paths(shop, router);
  add_order_events(shop, router);
  add_payment_paths(shop, router);
  add_lab(shop, router);
  add_story(shop);
  add_invariants(shop, router);
}

}  // namespace order
