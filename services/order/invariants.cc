#include "order/invariants.h"

#include <map>
#include <set>

#include "order/shop.h"
#include "order/stock.h"

namespace order {
namespace {

using skald::Checklist;
using skald::Invariants;
using skald::Transaction;

void check_stock(Transaction& tx, Checklist& list) {
  list.none("nothing-negative", tx, "SELECT COUNT(*) FROM order_product WHERE quantity < 0 OR reserved < 0 OR sold < 0",
            "products with a negative count");
  list.none("units-conserved", tx,
            "SELECT COUNT(*) FROM order_product WHERE quantity + reserved + sold <> initial + restocked",
            "products where free + reserved + sold is not initial + restocked");
  list.none("reserved-by-someone", tx,
            "SELECT COUNT(*) FROM order_product p WHERE p.reserved <> (SELECT COALESCE(SUM(r.amount), 0) FROM "
            "order_reservation r WHERE r.sku = p.sku AND r.state = 'RESERVED')",
            "products whose reserved units are not those of their reservations");
  list.none("reservations-live", tx,
            "SELECT COUNT(*) FROM order_reservation r WHERE NOT EXISTS (SELECT 1 FROM skald_saga s WHERE s.id = "
            "r.saga_id AND s.live = 1)",
            "reservations whose saga is finished");
  std::int64_t differ = 0;
  for (const Product& product : tx.select<Product>("ORDER BY sku"))
    if (replay(tx, product) != Replayed{product.quantity, product.reserved, product.sold, product.restocked}) ++differ;
  list.none("version-file-agrees", differ, "products that are not what their version file says");
}

void check_sagas(Transaction& tx, Checklist& list) {
  list.none("orders-end-with-their-saga", tx,
            "SELECT COUNT(*) FROM order_record o WHERE o.status = 'PENDING' AND NOT EXISTS (SELECT 1 FROM "
            "skald_saga s WHERE s.id = o.saga_id AND s.live = 1)",
            "pending orders whose saga is finished");
  list.none("locks-end-with-their-saga", tx,
            "SELECT COUNT(*) FROM skald_lock l WHERE l.resource IN ('order', 'product') AND NOT EXISTS (SELECT 1 "
            "FROM skald_saga s WHERE s.id = l.root AND s.live = 1)",
            "locks whose saga is finished");
  list.none("paid-once", tx,
            "SELECT COUNT(*) FROM order_record o WHERE o.status IN ('CONFIRMED', 'CANCELLED') AND (SELECT "
            "COUNT(*) FROM order_payment p WHERE p.order_id = o.id AND p.amount = o.amount) <> 1",
            "confirmed or cancelled orders without exactly one payment of their amount");
}

// Orders that no saga has in hand, with what they must have cost in the end.
struct Settled {
  std::int64_t version = 0, owed = 0;
  bool operator==(const Settled&) const = default;
};
using Books = std::map<std::string, Settled>;

Books settled_orders(Transaction& tx) {
  Books out;
  const skald::Rows rows = tx.query(
      "SELECT o.id, o.version, o.status, o.amount FROM order_record o WHERE o.status <> 'PENDING' AND NOT EXISTS "
      "(SELECT 1 FROM skald_saga s WHERE s.key = o.id AND s.live = 1)");
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[rows.get<std::string>(i, 0)] = {rows.get<std::int64_t>(i, 1),
                                        rows.get<Status>(i, 2) == Status::CONFIRMED ? rows.get<std::int64_t>(i, 3) : 0};
  return out;
}

// The provider is read between two looks at the tables: what was settled and the same
// in both was so while it answered. The rest is in flight.
void check_money(skald::Database& db, Payments& payments, Checklist& list) {
  const Books before = db.read_result(settled_orders);
  std::map<std::string, std::int64_t> paid;
  std::int64_t charged = 0, refunded = 0, twice = 0;
  std::set<std::string> references;
  payments.each_charge([&](const Charge& charge) {
    if (charge.status != ChargeStatus::CHARGED && charge.status != ChargeStatus::REFUNDED) return;
    charged += charge.amount;
    if (charge.status == ChargeStatus::REFUNDED) refunded += charge.amount;
    else paid[charge.reference] += charge.amount;
    if (!references.insert(charge.reference).second) ++twice;
  });
  const Books after = db.read_result(settled_orders);
  std::int64_t confirmed = 0, differ = 0;
  for (const auto& [id, order] : before) {
    const auto still = after.find(id);
    if (still == after.end() || !(still->second == order)) continue;
    const auto found = paid.find(id);
    const std::int64_t kept = found == paid.end() ? 0 : found->second;
    if (kept != order.owed) ++differ;
    confirmed += order.owed;
    if (found != paid.end()) paid.erase(found);
  }
  std::int64_t in_flight = 0;
  for (const auto& [id, amount] : paid) in_flight += amount;
  const std::int64_t orphans = db.read_result([&](Transaction& tx) {
    std::int64_t missing = 0;
    for (const auto& [id, amount] : paid)
      if (!tx.find<Order>(id)) ++missing;
    return missing;
  });
  list.add("money-conserved", differ == 0 && orphans == 0,
           "charged " + std::to_string(charged) + " - refunded " + std::to_string(refunded) + " = confirmed " +
               std::to_string(confirmed) + " + in flight " + std::to_string(in_flight) + "; orders that differ: " +
               std::to_string(differ) + ", charges without an order: " + std::to_string(orphans));
  list.none("charged-once", twice, "orders that were charged twice");
}

}  // namespace

Invariants check_invariants(skald::Database& db, Payments& payments) {
  Checklist list;
  db.read([&](Transaction& tx) {
    list = Checklist{};
    check_stock(tx, list);
    check_sagas(tx, list);
  });
  try {
    check_money(db, payments, list);
  } catch (const skald::Unavailable& error) {
    list.add("money-conserved", false, std::string("the provider cannot be asked: ") + error.what());
  }
  return list.take();
}

void add_invariants(const ShopHandle& shop, skald::Router& router) {
  router.get("/order/invariants", skald::Access::admin,
             skald::describe<void, Invariants>("What must hold of orders, checked now"), [shop](const skald::Request&) {
               return skald::Response::json(200, check_invariants(shop->db(), *shop->payments));
             });
  shop->engine.add_job({.name = "order.reconcile", .every = std::chrono::minutes(1), .run = [shop] {
                          const Invariants found = check_invariants(shop->db(), *shop->payments);
                          shop->env.observer.gauge("order_invariants_ok", found.ok ? 1 : 0);
                          if (!found.ok)
                            shop->env.observer.log(skald::Observer::Level::error, "an invariant of orders is broken",
                                                   "\"checks\":" + skald::to_json(found.checks));
                        }});
}

}  // namespace order
