// The saga of this example: reserve on the shelf, charge the card, sell.
#pragma once

#include "skald/saga.h"

struct PlaceOrder {
  std::string sku;
  std::int64_t quantity = 1;
};
BOOST_DESCRIBE_STRUCT(PlaceOrder, (), (sku, quantity))

inline void create_shop(skald::Database& db) {
  const skald::Migration steps[] = {{.version = 1,
                                     .name = "a shelf with ten lamps",
                                     .sql = R"(
      CREATE TABLE shelf (sku TEXT PRIMARY KEY, free BIGINT NOT NULL, reserved BIGINT NOT NULL, sold BIGINT NOT NULL);
      INSERT INTO shelf VALUES ('lamp', 10, 0, 0);
    )",
                                     .postgres_sql = ""}};
  db.migrate("shop", steps);
}

inline void reserve(skald::Local& step, PlaceOrder& order) {
  const auto taken =
      step->execute("UPDATE shelf SET free = free - $2, reserved = reserved + $2 WHERE sku = $1 AND free >= $2",
                    order.sku, order.quantity);
  if (taken == 0) throw skald::Refused("SOLD_OUT", "there are not enough on the shelf");
}

inline void put_back(skald::Local& step, PlaceOrder& order) {
  step->execute("UPDATE shelf SET free = free + $2, reserved = reserved - $2 WHERE sku = $1", order.sku,
                order.quantity);
}

inline void sell(skald::Local& step, PlaceOrder& order) {
  step->execute("UPDATE shelf SET reserved = reserved - $2, sold = sold + $2 WHERE sku = $1", order.sku,
                order.quantity);
}

// Takes the money: once per key, however often it is asked.
using Charge = std::function<void(const std::string& key, std::int64_t amount)>;

inline skald::Saga<PlaceOrder> place_order(Charge charge) {
  using namespace std::chrono_literals;
  return skald::Saga<PlaceOrder>("shop.place_order")
      .local("reserve", reserve)
      .undo(put_back)
      .holds("product", &PlaceOrder::sku, skald::shared, skald::wait_up_to(10s))
      .writes("product", skald::Guard::commutative)
      .remote("charge",
              [charge](skald::Remote& call, PlaceOrder& order) { charge(call.idempotency_key(), 40 * order.quantity); })
      .retry(3, 100ms)
      .pivot()
      .local("sell", sell)
      .writes("product", skald::Guard::commutative);
}
