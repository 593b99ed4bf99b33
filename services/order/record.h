// Products, reservations, orders and payments as they are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skald/json.h"
#include "skald/row.h"
#include "skald/schema.h"

namespace order {

inline constexpr std::int64_t kPriceMax = 10'000'000'000;  // minor units
inline constexpr std::int64_t kStockMax = 1'000'000'000;
inline constexpr std::int64_t kQuantityMax = 1'000'000;
inline constexpr std::size_t kItemsMax = 50;

struct Item {
  std::string sku;
  std::int64_t quantity = 0;
  bool operator==(const Item&) const = default;
};
BOOST_DESCRIBE_STRUCT(Item, (), (sku, quantity))

// quantity + reserved + sold = initial + restocked, always.
struct Product {
  std::string sku, name;
  std::int64_t price = 0;  // minor units
  std::string currency;
  std::int64_t quantity = 0;  // free
  std::int64_t reserved = 0, sold = 0, initial = 0, restocked = 0;
  skald::Time created_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Product, (),
                      (sku, name, price, currency, quantity, reserved, sold, initial, restocked, created_at, version))

// RESERVING: wanted, no units taken yet. RESERVED: taken, and given back or sold by
// this saga alone.
enum class ReservationState { RESERVING, RESERVED };
BOOST_DESCRIBE_ENUM(ReservationState, RESERVING, RESERVED)

// The semantic lock on units of a product: one per saga and product, from the saga's
// first step to its last.
struct Reservation {
  std::string id;  // order and sku
  std::string saga_id, order_id, sku;
  ReservationState state = ReservationState::RESERVING;
  std::int64_t amount = 0;
  std::int64_t seq = 0;  // of its RESERVE in the version file
  skald::Time since{};
};
BOOST_DESCRIBE_STRUCT(Reservation, (), (id, saga_id, order_id, sku, state, amount, seq, since))

enum class Status { PENDING, CONFIRMED, FAILED, CANCELLED };
BOOST_DESCRIBE_ENUM(Status, PENDING, CONFIRMED, FAILED, CANCELLED)

// Of the last wish to cancel an order. FAILED: the order is what it is, for the reason that stands beside it.
enum class CancelStatus { PENDING, DONE, FAILED };
BOOST_DESCRIBE_ENUM(CancelStatus, PENDING, DONE, FAILED)

enum class LockChoice { none, exclusive };
BOOST_DESCRIBE_ENUM(LockChoice, none, exclusive)
enum class BusyChoice { wait, retry, reject };
BOOST_DESCRIBE_ENUM(BusyChoice, wait, retry, reject)

struct Order {
  std::string id, customer;
  skald::RawJson items;
  std::int64_t amount = 0;
  std::string currency;
  Status status = Status::PENDING;
  std::string saga_id;                      // that places it
  std::optional<std::string> cancel_saga;   // the last that tried to cancel it
  LockChoice locking = LockChoice::none;
  BusyChoice when_busy = BusyChoice::wait;
  skald::Time created_at{}, updated_at{};
  std::int64_t version = 0;
  // Written by the saga that cancels it, also while another holds the order: no part of `version`.
  std::optional<CancelStatus> cancel_status;
  std::optional<std::string> cancel_reason;              // the customer's words
  std::optional<std::string> cancel_code, cancel_message;  // why it failed
  std::optional<std::string> fail_code, fail_message;      // of a FAILED order: why
};
BOOST_DESCRIBE_STRUCT(Order, (),
                      (id, customer, items, amount, currency, status, saga_id, cancel_saga, locking, when_busy,
                       created_at, updated_at, version, cancel_status, cancel_reason, cancel_code, cancel_message,
                       fail_code, fail_message))

enum class PaymentStatus { CHARGED, REFUNDED };
BOOST_DESCRIBE_ENUM(PaymentStatus, CHARGED, REFUNDED)

struct Payment {
  std::string id;  // the provider's
  std::string order_id, saga_id;
  std::int64_t amount = 0;
  std::string currency;
  PaymentStatus status = PaymentStatus::CHARGED;
  std::optional<std::string> refund_id;
  skald::Time charged_at{};
  std::optional<skald::Time> refunded_at;
};
BOOST_DESCRIBE_STRUCT(Payment, (),
                      (id, order_id, saga_id, amount, currency, status, refund_id, charged_at, refunded_at))

inline std::vector<Item> items_of(const Order& order) { return skald::from_json<std::vector<Item>>(order.items.text); }

}  // namespace order

template <>
struct skald::Table<order::Product> {
  static constexpr std::string_view name = "order_product", key = "sku", resource = "product";
};
template <>
struct skald::Table<order::Reservation> {
  static constexpr std::string_view name = "order_reservation", key = "id";
};
template <>
struct skald::Table<order::Order> {
  static constexpr std::string_view name = "order_record", key = "id", resource = "order";
};
template <>
struct skald::Table<order::Payment> {
  static constexpr std::string_view name = "order_payment", key = "id";
};

template <>
struct skald::Limits<order::Item> {
  static constexpr skald::MemberLimit of[] = {{"sku", 1, 64}, {"quantity", 1, order::kQuantityMax}};
};
