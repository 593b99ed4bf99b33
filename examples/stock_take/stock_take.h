// Somebody counts what lies on the shelf, which takes a while, and the books are put right.
#pragma once

#include "skald/saga.h"

struct StockTake {
  std::string sku;
  std::int64_t found = 0;   // more (or less) than the books say
  std::int64_t seen = 0;
};
BOOST_DESCRIBE_STRUCT(StockTake, (), (sku, found, seen))

inline skald::Saga<StockTake> stock_take(bool alone) {
  using namespace std::chrono_literals;
  skald::Saga<StockTake> saga("shop.stock_take");
  saga.local("look",
             [](skald::Local& step, StockTake& count) {
               count.seen = step->query("SELECT free FROM shelf WHERE sku = $1", count.sku).get<std::int64_t>(0, 0);
             })
      .nothing_to_undo()
      .reads("product")
      .commit();
  if (alone) saga.holds("product", &StockTake::sku, skald::exclusive, skald::wait_up_to(10s));
  saga.sleep("count", 1min)
      .local("correct",
             [](skald::Local& step, StockTake& count) {
               step->execute("UPDATE shelf SET free = $2 WHERE sku = $1", count.sku, count.seen + count.found);
             })
      .pivot()
      .writes("product");
  return saga;
}
