// What clients send and are shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "order/record.h"
#include "skald/database.h"
#include "skald/http.h"

namespace order {

struct NewProduct {
  std::string sku, name;
  std::int64_t price = 0;
  std::string currency;
  std::int64_t stock = 0;
};
BOOST_DESCRIBE_STRUCT(NewProduct, (), (sku, name, price, currency, stock))

struct Restock {
  std::int64_t quantity = 0;
};
BOOST_DESCRIBE_STRUCT(Restock, (), (quantity))

struct NewPrice {
  std::int64_t price = 0;
};
BOOST_DESCRIBE_STRUCT(NewPrice, (), (price))

// AVAILABLE: nobody is at it. RESERVING, RESERVED: unfinished sagas want or hold units.
enum class ProductStatus { AVAILABLE, RESERVING, RESERVED, SOLD_OUT };
BOOST_DESCRIBE_ENUM(ProductStatus, AVAILABLE, RESERVING, RESERVED, SOLD_OUT)

// The one that holds units for the longest time.
struct Holder {
  std::string saga_id, order_id;
  ReservationState state{};
  std::int64_t amount = 0;
  skald::Time since{};
};
BOOST_DESCRIBE_STRUCT(Holder, (), (saga_id, order_id, state, amount, since))

struct ProductView {
  std::string sku, name;
  std::int64_t price = 0;
  std::string currency;
  std::int64_t stock = 0;  // what it began with
  std::int64_t quantity = 0, reserved = 0, sold = 0, restocked = 0;
  ProductStatus status{};
  std::optional<Holder> holder;
};
BOOST_DESCRIBE_STRUCT(ProductView, (),
                      (sku, name, price, currency, stock, quantity, reserved, sold, restocked, status, holder))

ProductView view_of(skald::Transaction& tx, const Product& product);

struct NewOrder {
  std::optional<std::vector<Item>> items;
  std::optional<std::string> sku;
  std::optional<std::int64_t> quantity;
  std::optional<LockChoice> lock;
  std::optional<BusyChoice> when_busy;
  std::optional<std::string> customer;  // admins order for others
};
BOOST_DESCRIBE_STRUCT(NewOrder, (), (items, sku, quantity, lock, when_busy, customer))

struct Cancellation {
  std::optional<std::string> reason;
  std::optional<BusyChoice> when_busy;
};
BOOST_DESCRIBE_STRUCT(Cancellation, (), (reason, when_busy))

// Why a placement failed: SOLD_OUT for good, BUSY for now, PAYMENT_DECLINED, …
struct Reason {
  std::string code, message;
  std::optional<std::int64_t> retry_after_seconds;
};
BOOST_DESCRIBE_STRUCT(Reason, (), (code, message, retry_after_seconds))

// What has become of the last wish to cancel the order.
struct CancellationView {
  CancelStatus status = CancelStatus::PENDING;
  std::string reason;                     // the customer's words
  std::optional<std::string> code, message;  // why it failed, or for whom it waits
  std::string saga_id;
};
BOOST_DESCRIBE_STRUCT(CancellationView, (), (status, reason, code, message, saga_id))

struct Money {
  std::int64_t amount = 0;
  std::string currency;
};
BOOST_DESCRIBE_STRUCT(Money, (), (amount, currency))

struct OrderView {
  std::string id, customer;
  std::optional<std::string> sku;         // of an order of one product
  std::optional<std::int64_t> quantity;
  std::vector<Item> items;
  Money price;
  Status status = Status::PENDING;
  std::optional<Reason> reason;
  std::optional<CancellationView> cancellation;
  std::string saga_id;
  std::optional<std::string> cancel_saga_id;
  LockChoice lock = LockChoice::none;
  BusyChoice when_busy = BusyChoice::wait;
  skald::Time created_at{}, updated_at{};
};
BOOST_DESCRIBE_STRUCT(OrderView, (),
                      (id, customer, sku, quantity, items, price, status, reason, cancellation, saga_id, cancel_saga_id,
                       lock, when_busy, created_at, updated_at))

OrderView view_of(skald::Transaction& tx, const Order& order);

// As the caller may see it: customers are not told the ids of others' sagas and orders, only that somebody is there.
ProductView shown_to(const skald::Caller& caller, ProductView view);
OrderView shown_to(const skald::Caller& caller, OrderView view);
// A sentence of the engine or of stock.h about an order whose sagas are `own`.
std::string shown_to(const skald::Caller& caller, const std::string& sentence, const std::vector<std::string>& own);

}  // namespace order

template <>
struct skald::Limits<order::NewProduct> {
  static constexpr skald::MemberLimit of[] = {{"sku", 1, 64},
                                              {"name", 1, 200},
                                              {"price", 1, order::kPriceMax},
                                              {"currency", 3, 3},
                                              {"stock", 0, order::kStockMax}};
};
template <>
struct skald::Limits<order::Restock> {
  static constexpr skald::MemberLimit of[] = {{"quantity", 1, order::kStockMax}};
};
template <>
struct skald::Limits<order::NewPrice> {
  static constexpr skald::MemberLimit of[] = {{"price", 1, order::kPriceMax}};
};
template <>
struct skald::Limits<order::NewOrder> {
  static constexpr skald::MemberLimit of[] = {{"items", 1, order::kItemsMax}, {"quantity", 1, order::kQuantityMax}};
};
