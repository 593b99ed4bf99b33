#include "order/order.h"
#include "order/shop.h"

namespace order {
namespace {

constexpr skald::Duration kRequestsKept = std::chrono::hours(48);

// Idempotency keys are promised for 24 hours.
void forget_requests(skald::Database& db) {
  const auto some = [&db] {
    return db.write_result("forget order requests", [](skald::Transaction& tx) {
      return tx.execute(
          "DELETE FROM order_request WHERE (subject, key) IN "
          "(SELECT subject, key FROM order_request WHERE created_at < $1 LIMIT 500)",
          tx.now() - kRequestsKept);
    });
  };
  while (some() == 500) {}
}

}  // namespace

void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options) {
  skald::Database& db = engine.database();
  db.migrate("order", migrations());
  const auto payments = std::make_shared<Payments>(env, db, options.provider, options.pause);
  const auto shop = std::make_shared<const Shop>(Shop{engine, env, options, payments,
                                                      place_order_saga(env, engine, payments, options.call_timeout),
                                                      cancel_order_saga(payments, options.call_timeout), lab_saga()});
  engine.sagas().add(shop->place);
  engine.sagas().add(shop->cancel);
  engine.sagas().add(shop->lab);
  engine.add_job({.name = "order.requests", .every = std::chrono::hours(1), .run = [&db] { forget_requests(db); }});
  add_product_paths(shop, router);
  add_order_paths(shop, router);
  add_order_events(shop, router);
  add_payment_paths(shop, router);
  add_lab(shop, router);
  add_story(shop);
  add_invariants(shop, router);
}

}  // namespace order
