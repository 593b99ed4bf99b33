#include "order/stock.h"

#include <algorithm>

#include "skald/commutative.h"

namespace order {
namespace {

using skald::Busy;
using skald::Refused;
using skald::Transaction;
using skald::VersionEntry;
using skald::VersionStatus;

using Move = skald::GuardedUpdate<Product>;

constexpr std::string_view kPrefix = "product/";

std::vector<Item> sorted(std::span<const Item> items) {
  std::vector<Item> out(items.begin(), items.end());
  std::ranges::sort(out, {}, &Item::sku);
  return out;
}

std::string reservation_id(const Mover& mover, const std::string& sku) {
  return std::string(mover.order_id) + "/" + sku;
}

// Told apart for the customer: gone for good, or in the hands of others who may give up. What
// is pending is read as pending (their sum is the same however unfinished orders end), so for
// the recorded history this is no read of what they might undo: find<Product>() would be one.
[[noreturn]] void refuse_short(Transaction& tx, const std::string& sku, std::int64_t wanted) {
  const skald::Rows counts = tx.query("SELECT quantity, reserved FROM order_product WHERE sku = $1", sku);
  if (counts.empty()) throw Refused("PRODUCT_NOT_FOUND", "there is no product " + sku);
  const auto free = counts.get<std::int64_t>(0, 0), reserved = counts.get<std::int64_t>(0, 1);
  if (free + reserved < wanted)
    throw Refused("SOLD_OUT", std::to_string(wanted) + " of " + sku + " are wanted and " +
                                  std::to_string(free + reserved) + " are left: do not try again");
  std::string who = "other orders";
  const auto holders = tx.select<Reservation>("WHERE sku = $1 AND state = 'RESERVED' ORDER BY since, id LIMIT 1", sku);
  if (!holders.empty()) who = "saga " + holders[0].saga_id + " since " + skald::format_time(holders[0].since);
  throw Busy("BUSY",
             std::to_string(wanted) + " of " + sku + " are wanted, " + std::to_string(free) + " are free and " +
                 std::to_string(reserved) + " are held by unfinished orders, first by " + who + ": try again after " +
                 std::to_string(kTryAgainAfter.count()) + " s",
             kTryAgainAfter, skald::Shortage{std::string(kUnits), sku, kTryAgainAfter});
}

void move(Transaction& tx, const Move& how, const std::string& sku, const VersionEntry& entry) {
  if (!how.run(tx, sku, entry.amount))
    throw Refused("STOCK_MISMATCH", "product " + sku + " has not the units that " + entry.action + " of " +
                                        std::to_string(entry.amount) + " needs: look at /order/invariants");
}

// The only place that changes a product's units.
void apply(Transaction& tx, const VersionEntry& entry) {
  static const Move reserving = Move().take(&Product::quantity).put(&Product::reserved);
  static const Move cancelling = Move().take(&Product::reserved).put(&Product::quantity);
  static const Move confirming = Move().take(&Product::reserved).put(&Product::sold);
  static const Move returning = Move().take(&Product::sold).put(&Product::quantity);
  static const Move restocking = Move().put(&Product::quantity).put(&Product::restocked);
  const std::string sku = entry.resource.substr(kPrefix.size());
  if (entry.action == "RESERVE") {
    if (!reserving.run(tx, sku, entry.amount)) refuse_short(tx, sku, entry.amount);
  } else if (entry.action == "CANCEL") {
    move(tx, cancelling, sku, entry);
  } else if (entry.action == "CONFIRM") {
    move(tx, confirming, sku, entry);
  } else if (entry.action == "RETURN") {
    move(tx, returning, sku, entry);
  } else if (entry.action == "RESTOCK") {
    if (!restocking.run(tx, sku, entry.amount))
      throw skald::NotFound("PRODUCT_NOT_FOUND", "there is no product " + sku);
  } else {
    throw skald::Corrupt("BAD_ACTION", "the version file of " + entry.resource + " has an action " + entry.action);
  }
}

// Takes the saga's own reservation off; nobody else's.
Reservation claim(Transaction& tx, const Mover& mover, const std::string& sku) {
  const std::string id = reservation_id(mover, sku);
  const auto found = tx.find<Reservation>(id);
  if (!found || found->state != ReservationState::RESERVED)
    throw Refused("NO_RESERVATION", "order " + std::string(mover.order_id) + " has no units of " + sku + " reserved");
  if (found->saga_id != mover.saga_id)
    throw Refused("INVALID_SAGA", "the reservation of " + sku + " belongs to saga " + found->saga_id + ", not to " +
                                      std::string(mover.saga_id));
  tx.enqueue("DELETE FROM order_reservation WHERE id = $1", id);
  return *found;
}

void settle(Transaction& tx, const Mover& mover, std::span<const Item> items, std::string_view action,
            VersionStatus status) {
  for (const Item& item : sorted(items)) {
    const Reservation own = claim(tx, mover, item.sku);
    const std::string resource = resource_of(item.sku);
    version_file().append(tx, resource, mover.saga_id, action, own.amount, status);
    version_file().settle(tx, resource, own.seq, mover.saga_id, status);
  }
}

}  // namespace

const skald::VersionFile& version_file() {
  static const skald::VersionFile file(apply);
  return file;
}

std::string resource_of(const std::string& sku) { return std::string(kPrefix) + sku; }

void announce(Transaction& tx, const Mover& mover, std::span<const Item> items) {
  for (const Item& item : sorted(items))
    tx.enqueue(
        "INSERT INTO order_reservation (id, saga_id, order_id, sku, state, amount, seq, since) "
        "VALUES ($1, $2, $3, $4, $5, $6, 0, $7)",
        reservation_id(mover, item.sku), mover.saga_id, mover.order_id, item.sku, ReservationState::RESERVING,
        item.quantity, tx.now());
}

void withdraw(Transaction& tx, const Mover& mover) {
  tx.execute("DELETE FROM order_reservation WHERE order_id = $1 AND saga_id = $2 AND state = 'RESERVING'",
             mover.order_id, mover.saga_id);
}

void reserve(Transaction& tx, const Mover& mover, std::span<const Item> items) {
  for (const Item& item : sorted(items)) {
    const auto seq = version_file().append(tx, resource_of(item.sku), mover.saga_id, "RESERVE", item.quantity);
    tx.enqueue("UPDATE order_reservation SET state = 'RESERVED', seq = $3, since = $4 WHERE id = $1 AND saga_id = $2",
               reservation_id(mover, item.sku), mover.saga_id, seq, tx.now());
  }
}

void release(Transaction& tx, const Mover& mover, std::span<const Item> items) {
  settle(tx, mover, items, "CANCEL", VersionStatus::COMPENSATED);
}

void confirm(Transaction& tx, const Mover& mover, std::span<const Item> items) {
  settle(tx, mover, items, "CONFIRM", VersionStatus::COMPLETED);
}

void give_back(Transaction& tx, const Mover& mover, std::span<const Item> items) {
  for (const Item& item : sorted(items))
    version_file().append(tx, resource_of(item.sku), mover.saga_id, "RETURN", item.quantity, VersionStatus::COMPLETED);
}

void say_freed(skald::Local& step, std::span<const Item> items) {
  for (const Item& item : items) step.freed(std::string(kUnits), item.sku);
}

void restock(Transaction& tx, std::string_view who, const std::string& sku, std::int64_t quantity) {
  version_file().append(tx, resource_of(sku), who, "RESTOCK", quantity, VersionStatus::COMPLETED);
}

bool StockCheckpoint::agrees_with(const Product& product) const {
  return quantity == product.quantity && reserved == product.reserved && sold == product.sold &&
         restocked == product.restocked;
}

StockCheckpoint beginning_of(const Product& product) { return {product.sku, 0, product.initial, 0, 0, 0}; }

StockCheckpoint replay(Transaction& tx, StockCheckpoint from) {
  StockCheckpoint& out = from;
  version_file().replay(tx, resource_of(from.sku), from.seq + 1, [&](const VersionEntry& entry) {
    const auto shift = [&](std::int64_t& source, std::int64_t& target) {
      source -= entry.amount;
      target += entry.amount;
    };
    if (entry.action == "RESERVE") shift(out.quantity, out.reserved);
    if (entry.action == "CANCEL") shift(out.reserved, out.quantity);
    if (entry.action == "CONFIRM") shift(out.reserved, out.sold);
    if (entry.action == "RETURN") shift(out.sold, out.quantity);
    if (entry.action == "RESTOCK") {
      out.quantity += entry.amount;
      out.restocked += entry.amount;
    }
    out.seq = entry.seq;
  });
  return from;
}

void store(Transaction& tx, const StockCheckpoint& reached) {
  tx.enqueue(
      "INSERT INTO order_stock_checkpoint (sku, seq, quantity, reserved, sold, restocked) VALUES ($1, $2, $3, $4, $5, "
      "$6) ON CONFLICT (sku) DO UPDATE SET seq = excluded.seq, quantity = excluded.quantity, reserved = "
      "excluded.reserved, sold = excluded.sold, restocked = excluded.restocked WHERE order_stock_checkpoint.seq < "
      "excluded.seq",
      reached.sku, reached.seq, reached.quantity, reached.reserved, reached.sold, reached.restocked);
}

}  // namespace order
