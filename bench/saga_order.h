// The order saga of the benchmark, the same work for every contestant: an order row,
// a guarded stock update, a payment row, each a step. One in a hundred is declined at
// the third step, so that the first two are undone. How it ended is told by an event,
// where a contestant has events at all.
#pragma once

#include <cstdint>
#include <string>

#include "skald/saga.h"

namespace bench {

inline constexpr std::int64_t kProducts = 10'000;

inline constexpr const char* kOrderSchema =
    "CREATE TABLE bench_order (id TEXT PRIMARY KEY, sku BIGINT NOT NULL, quantity BIGINT NOT NULL, status TEXT NOT "
    "NULL);"
    "CREATE TABLE bench_stock (sku BIGINT PRIMARY KEY, quantity BIGINT NOT NULL);"
    "CREATE TABLE bench_payment (order_id TEXT PRIMARY KEY, amount BIGINT NOT NULL);"
    "WITH RECURSIVE p(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM p WHERE x + 1 < 10000) "
    "INSERT INTO bench_stock (sku, quantity) SELECT x, 1000000000 FROM p;";

inline const skald::Migration kOrderMigration{.version = 1, .name = "orders", .sql = kOrderSchema, .postgres_sql = ""};

inline constexpr const char* kCreateOrder =
    "INSERT INTO bench_order (id, sku, quantity, status) VALUES ($1, $2, 1, 'NEW')";
inline constexpr const char* kReserveStock =
    "UPDATE bench_stock SET quantity = quantity - 1 WHERE sku = $1 AND quantity >= 1";
inline constexpr const char* kTakePayment = "INSERT INTO bench_payment (order_id, amount) VALUES ($1, 1999)";
inline constexpr const char* kReleaseStock = "UPDATE bench_stock SET quantity = quantity + 1 WHERE sku = $1";
inline constexpr const char* kCancelOrder = "UPDATE bench_order SET status = 'CANCELLED' WHERE id = $1";

inline constexpr const char* kOrderPlaced = "order.placed";
inline constexpr const char* kOrderCancelled = "order.cancelled";

struct PlaceOrder {
  std::int64_t number = 0;
  std::int64_t sku = 0;
  bool declined = false;
};
BOOST_DESCRIBE_STRUCT(PlaceOrder, (), (number, sku, declined))

inline bool is_declined(std::int64_t n) { return n % 100 == 99; }
inline PlaceOrder order_of(std::int64_t n) { return {n, n * 7919 % kProducts, is_declined(n)}; }

// All steps in one transaction, or each in its own.
enum class Commits { once, every_step };
skald::Saga<PlaceOrder> order_saga(Commits commits);

// On one product: between two transactions the provider of the payment is asked.
skald::Saga<PlaceOrder> hot_order_saga(skald::LockMode mode);

// Nothing but a sleep; who wakes tells how late it is.
struct Sleeper {
  std::int64_t sleep = 0;  // microseconds
  std::int64_t due = 0;    // since 1970
};
BOOST_DESCRIBE_STRUCT(Sleeper, (), (sleep, due))
inline constexpr int kSleepersWoken = 20;  // in each run
skald::Saga<Sleeper> sleeper_saga(std::function<void(const Sleeper&)> woken);

}  // namespace bench
