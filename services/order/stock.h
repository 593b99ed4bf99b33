// Stock: units of products, moved by commutative guarded updates, each a numbered line
// of the product's version file.
//
// | what happens                                      | what is thrown                        |
// | too few, even if every unfinished saga gave back  | Refused SOLD_OUT: trying again cannot help |
// | too few, but unfinished sagas hold enough         | Busy BUSY: by whom, since when, when to try again |
// | another saga's reservation is confirmed, released | Refused INVALID_SAGA                  |
// | a reservation that is not there                   | Refused NO_RESERVATION                |
//
// Every function goes through the products in the order of their sku, so that two
// transactions never wait for each other.
#pragma once

#include <span>
#include <string_view>

#include "order/record.h"
#include "skald/saga.h"
#include "skald/version_file.h"

namespace order {

// Who moves units, and for which order.
struct Mover {
  std::string_view saga_id, order_id;
};

inline constexpr std::chrono::seconds kTryAgainAfter{2};

// What an order lacks of a product and unfinished orders may free: the resource for freed(), with the sku.
inline constexpr std::string_view kUnits = "units";

// Says that these units are wanted: RESERVING, visible to all until the saga ends.
void announce(skald::Transaction& tx, const Mover& mover, std::span<const Item> items);
void withdraw(skald::Transaction& tx, const Mover& mover);

// free -> reserved, and back, or on to sold.
void reserve(skald::Transaction& tx, const Mover& mover, std::span<const Item> items);
void release(skald::Transaction& tx, const Mover& mover, std::span<const Item> items);
void confirm(skald::Transaction& tx, const Mover& mover, std::span<const Item> items);

// sold -> free: of an order that is cancelled.
void give_back(skald::Transaction& tx, const Mover& mover, std::span<const Item> items);

// Whoever waits for units of these looks again when the step has committed.
void say_freed(skald::Local& step, std::span<const Item> items);

// More free units. NotFound (PRODUCT_NOT_FOUND).
void restock(skald::Transaction& tx, std::string_view who, const std::string& sku, std::int64_t quantity);

// The product's trail; its entries' resource is resource_of(sku).
const skald::VersionFile& version_file();
std::string resource_of(const std::string& sku);

// What the version file says a product must have, up to its line `seq`. The reconciler stores
// one for each product, so that nobody has to read a product's whole history: what lies
// before it is taken as read. A line there that is tampered with later is not noticed by a
// replay any more, only by who looks at the trail.
struct StockCheckpoint {
  std::string sku;
  std::int64_t seq = 0, quantity = 0, reserved = 0, sold = 0, restocked = 0;
  bool agrees_with(const Product& product) const;
};
BOOST_DESCRIBE_STRUCT(StockCheckpoint, (), (sku, seq, quantity, reserved, sold, restocked))

// Before its first line.
StockCheckpoint beginning_of(const Product& product);
// From there to the last line. Corrupt (VERSION_HOLE) where one is missing.
StockCheckpoint replay(skald::Transaction& tx, StockCheckpoint from);
// Stores it where it lies behind the one that is there.
void store(skald::Transaction& tx, const StockCheckpoint& reached);

}  // namespace order

template <>
struct skald::Table<order::StockCheckpoint> {
  static constexpr std::string_view name = "order_stock_checkpoint", key = "sku";
};
