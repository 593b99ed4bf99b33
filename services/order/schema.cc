#include <array>

#include "order/order.h"

namespace order {
namespace {

constexpr const char* kOrders = R"sql(
  CREATE TABLE order_product (
    sku TEXT PRIMARY KEY, name TEXT NOT NULL, price BIGINT NOT NULL, currency TEXT NOT NULL,
    quantity BIGINT NOT NULL CHECK (quantity >= 0), reserved BIGINT NOT NULL CHECK (reserved >= 0),
    sold BIGINT NOT NULL CHECK (sold >= 0), initial BIGINT NOT NULL, restocked BIGINT NOT NULL,
    created_at BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE TABLE order_reservation (
    id TEXT PRIMARY KEY, saga_id TEXT NOT NULL, order_id TEXT NOT NULL, sku TEXT NOT NULL, state TEXT NOT NULL,
    amount BIGINT NOT NULL, seq BIGINT NOT NULL, since BIGINT NOT NULL);
  CREATE INDEX order_reservation_sku ON order_reservation (sku, since);
  CREATE TABLE order_record (
    id TEXT PRIMARY KEY, customer TEXT NOT NULL, items TEXT NOT NULL, amount BIGINT NOT NULL, currency TEXT NOT NULL,
    status TEXT NOT NULL, saga_id TEXT NOT NULL, cancel_saga TEXT, locking TEXT NOT NULL, when_busy TEXT NOT NULL,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE INDEX order_record_created ON order_record (created_at, id);
  CREATE INDEX order_record_customer ON order_record (customer, created_at, id);
  CREATE INDEX order_record_pending ON order_record (created_at, id) WHERE status = 'PENDING';
  CREATE TABLE order_payment (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, saga_id TEXT NOT NULL, amount BIGINT NOT NULL, currency TEXT NOT NULL,
    status TEXT NOT NULL, refund_id TEXT, charged_at BIGINT NOT NULL, refunded_at BIGINT);
  CREATE INDEX order_payment_order ON order_payment (order_id);
  CREATE INDEX order_payment_charged ON order_payment (charged_at, id);
  CREATE TABLE order_history (
    order_id TEXT NOT NULL, seq BIGINT NOT NULL, saga_id TEXT NOT NULL, what TEXT NOT NULL, at BIGINT NOT NULL,
    PRIMARY KEY (order_id, seq));
  CREATE TABLE order_request (
    subject TEXT NOT NULL, key TEXT NOT NULL, order_id TEXT NOT NULL, body TEXT NOT NULL, created_at BIGINT NOT NULL,
    PRIMARY KEY (subject, key));
  CREATE INDEX order_request_created ON order_request (created_at);
  CREATE TABLE order_setting (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
  CREATE TABLE order_lab_product (
    id TEXT PRIMARY KEY, quantity BIGINT NOT NULL, reserved BIGINT NOT NULL, holder TEXT NOT NULL,
    version BIGINT NOT NULL))sql";

constexpr const char* kLabLocks = "ALTER TABLE order_lab_product DROP COLUMN holder";
constexpr const char* kRequests = "DROP TABLE order_request";
constexpr const char* kCheckpoints = R"sql(
  CREATE TABLE order_stock_checkpoint (
    sku TEXT PRIMARY KEY, seq BIGINT NOT NULL, quantity BIGINT NOT NULL, reserved BIGINT NOT NULL, sold BIGINT NOT NULL,
    restocked BIGINT NOT NULL))sql";

constexpr const char* kCancellations = R"sql(
  ALTER TABLE order_record ADD COLUMN cancel_status TEXT;
  ALTER TABLE order_record ADD COLUMN cancel_reason TEXT;
  ALTER TABLE order_record ADD COLUMN cancel_code TEXT;
  ALTER TABLE order_record ADD COLUMN cancel_message TEXT;
  CREATE INDEX order_record_cancelling ON order_record (id) WHERE cancel_status = 'PENDING';
  ALTER TABLE order_history ADD COLUMN detail TEXT)sql";

constexpr const char* kReasons = R"sql(
  ALTER TABLE order_record ADD COLUMN fail_code TEXT;
  ALTER TABLE order_record ADD COLUMN fail_message TEXT)sql";

}  // namespace

std::span<const skald::Migration> migrations() {
  static const std::array<skald::Migration, 6> steps = {
      skald::Migration{.version = 1, .name = "orders, stock, payments", .sql = kOrders, .postgres_sql = ""},
      skald::Migration{.version = 2,
                       .name = "the lab's locks are the engine's",
                       .sql = kLabLocks,
                       .postgres_sql = "",
                       .oldest_program = 2},
      skald::Migration{.version = 3,
                       .name = "keys of requests are the API's",
                       .sql = kRequests,
                       .postgres_sql = "",
                       .oldest_program = 3},
      skald::Migration{.version = 4, .name = "checkpoints of stock", .sql = kCheckpoints, .postgres_sql = ""},
      skald::Migration{.version = 5, .name = "cancellations", .sql = kCancellations, .postgres_sql = ""},
      skald::Migration{.version = 6, .name = "reasons of failed orders", .sql = kReasons, .postgres_sql = ""}};
  return steps;
}

}  // namespace order
