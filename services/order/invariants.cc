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

struct Review {
  std::vector<StockCheckpoint> advanced;  // of products that agree with their version file
  std::vector<std::string> differing;     // the others, by sku
};

Review review_stock(Transaction& tx) {
  std::map<std::string, StockCheckpoint> checkpoints;
  for (StockCheckpoint& one : tx.select<StockCheckpoint>("ORDER BY sku")) checkpoints[one.sku] = std::move(one);
  Review out;
  for (const Product& product : tx.select<Product>("ORDER BY sku")) {
    const StockCheckpoint& from = checkpoints.try_emplace(product.sku, beginning_of(product)).first->second;
    try {
      StockCheckpoint reached = replay(tx, from);
      if (!reached.agrees_with(product)) out.differing.push_back(product.sku);
      else if (reached.seq > from.seq) out.advanced.push_back(std::move(reached));
    } catch (const skald::Corrupt& hole) {
      out.differing.push_back(product.sku + " (" + hole.what() + ")");
    }
  }
  return out;
}

void check_stock(Transaction& tx, Checklist& list) {
  list.nobody("nothing-negative", tx,
              "SELECT sku FROM order_product WHERE quantity < 0 OR reserved < 0 OR sold < 0 ORDER BY sku",
              "products with a negative count");
  list.nobody("units-conserved", tx,
              "SELECT sku FROM order_product WHERE quantity + reserved + sold <> initial + restocked ORDER BY sku",
              "products where free + reserved + sold is not initial + restocked");
  list.nobody("reserved-by-someone", tx,
              "SELECT p.sku FROM order_product p WHERE p.reserved <> (SELECT COALESCE(SUM(r.amount), 0) FROM "
              "order_reservation r WHERE r.sku = p.sku AND r.state = 'RESERVED') ORDER BY p.sku",
              "products whose reserved units are not those of their reservations");
  list.nobody("reservations-live", tx,
              "SELECT r.id FROM order_reservation r WHERE NOT EXISTS (SELECT 1 FROM skald_saga s WHERE s.id = "
              "r.saga_id AND s.live = 1) ORDER BY r.id",
              "reservations whose saga is finished");
  list.none("version-file-agrees", review_stock(tx).differing, "products that are not what their version file says");
}

void check_sagas(Transaction& tx, Checklist& list) {
  list.nobody("orders-end-with-their-saga", tx,
              "SELECT o.id FROM order_record o WHERE o.status = 'PENDING' AND NOT EXISTS (SELECT 1 FROM "
              "skald_saga s WHERE s.id = o.saga_id AND s.live = 1) ORDER BY o.id",
              "pending orders whose saga is finished");
  list.nobody("cancellations-end-with-their-saga", tx,
              "SELECT o.id FROM order_record o WHERE o.cancel_status = 'PENDING' AND NOT EXISTS (SELECT 1 FROM "
              "skald_saga s WHERE s.id = o.cancel_saga AND s.live = 1) ORDER BY o.id",
              "pending cancellations whose saga is finished");
  list.nobody("locks-end-with-their-saga", tx,
              "SELECT l.resource || ' ' || l.key FROM skald_lock l WHERE l.resource IN ('lab', 'order', 'product') AND "
              "NOT EXISTS (SELECT 1 FROM skald_saga s WHERE s.id = l.root AND s.live = 1) ORDER BY l.resource, l.key",
              "locks whose saga is finished");
  list.nobody("paid-once", tx,
              "SELECT o.id FROM order_record o WHERE o.status IN ('CONFIRMED', 'CANCELLED') AND (SELECT COUNT(*) FROM "
              "order_payment p WHERE p.order_id = o.id AND p.amount = o.amount) <> 1 ORDER BY o.id",
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

std::string told(const std::vector<std::string>& ids) {
  return std::to_string(ids.size()) + (ids.empty() ? "" : " (" + skald::first_of(ids) + ")");
}

// The provider is read between two looks at the tables: what was settled and the same
// in both was so while it answered. The rest is in flight.
void check_money(skald::Database& db, Payments& payments, Checklist& list) {
  const Books before = db.read_result(settled_orders);
  std::map<std::string, std::int64_t> paid;
  std::int64_t charged = 0, refunded = 0;
  std::set<std::string> references, twice;
  payments.each_charge([&](const Charge& charge) {
    if (charge.status != ChargeStatus::CHARGED && charge.status != ChargeStatus::REFUNDED) return;
    charged += charge.amount;
    if (charge.status == ChargeStatus::REFUNDED) refunded += charge.amount;
    else paid[charge.reference] += charge.amount;
    if (!references.insert(charge.reference).second) twice.insert(charge.reference);
  });
  const Books after = db.read_result(settled_orders);
  std::int64_t confirmed = 0;
  std::vector<std::string> differing, orphans;
  for (const auto& [id, order] : before) {
    const auto still = after.find(id);
    if (still == after.end() || !(still->second == order)) continue;
    const auto found = paid.find(id);
    const std::int64_t kept = found == paid.end() ? 0 : found->second;
    if (kept != order.owed) differing.push_back(id);
    confirmed += order.owed;
    if (found != paid.end()) paid.erase(found);
  }
  std::int64_t in_flight = 0;
  for (const auto& [id, amount] : paid) in_flight += amount;
  db.read([&](Transaction& tx) {
    orphans.clear();
    for (const auto& [id, amount] : paid)
      if (!tx.find<Order>(id)) orphans.push_back(id);
  });
  list.add("money-conserved", differing.empty() && orphans.empty(),
           "charged " + std::to_string(charged) + " - refunded " + std::to_string(refunded) + " = confirmed " +
               std::to_string(confirmed) + " + in flight " + std::to_string(in_flight) +
               "; orders that differ: " + told(differing) + "; charges without an order: " + told(orphans));
  list.none("charged-once", std::vector(twice.begin(), twice.end()), "orders that were charged twice");
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

void advance_checkpoints(skald::Database& db) {
  constexpr std::size_t batch = 100;  // a writer that takes long keeps others waiting
  const std::vector<StockCheckpoint> advanced = db.read_result(review_stock).advanced;
  for (std::size_t begin = 0; begin < advanced.size(); begin += batch)
    db.write("advance checkpoints", [&](Transaction& tx) {
      for (std::size_t i = begin; i < std::min(begin + batch, advanced.size()); ++i) store(tx, advanced[i]);
    });
}

void add_invariants(const ShopHandle& shop, skald::Router& router) {
  router.get("/order/invariants", skald::Access::admin,
             skald::describe<void, Invariants>("What must hold of orders, checked now"), [shop](const skald::Request&) {
               return skald::Response::json(200, check_invariants(shop->db(), *shop->payments));
             });
  shop->engine.add_job({.name = "order.reconcile", .every = std::chrono::minutes(1), .run = [shop] {
                          advance_checkpoints(shop->db());
                          const Invariants found = check_invariants(shop->db(), *shop->payments);
                          shop->env.observer.gauge("order_invariants_ok", found.ok ? 1 : 0);
                          if (!found.ok)
                            shop->env.observer.log(skald::Observer::Level::error, "an invariant of orders is broken",
                                                   "\"checks\":" + skald::to_json(found.checks));
                        }});
}

}  // namespace order
