#include "order/place_order.h"

#include <tuple>

#include "order/order_status.h"
#include "order/stock.h"

namespace order {
namespace {

using skald::Local;
using skald::Refused;
using skald::Remote;

constexpr int kTriesRetrying = 3;
constexpr skald::Duration kPauseFirst = std::chrono::milliseconds(100);
constexpr skald::Duration kWaitMax = std::chrono::seconds(2);

Mover mover_of(const Local& step, const PlaceOrder& placed) { return {step.saga_id(), placed.order_id}; }

using Price = std::tuple<std::int64_t, std::string>;  // amount and currency

Price price_of(skald::Transaction& tx, std::span<const Item> items) {
  Price price;
  auto& [amount, currency] = price;
  for (const Item& item : items) {
    // Not find<Product>(): that is a read of the stock, in the recorded history too, and what
    // others do to the stock of a product changes nothing about its price.
    const skald::Rows offer = tx.query("SELECT price, currency FROM order_product WHERE sku = $1", item.sku);
    if (offer.empty()) throw Refused("PRODUCT_NOT_FOUND", "there is no product " + item.sku);
    const auto in = offer.get<std::string>(0, 1);
    if (!currency.empty() && currency != in)
      throw Refused("MIXED_CURRENCY", "one order is paid in one currency: order the others separately");
    currency = in;
    amount += offer.get<std::int64_t>(0, 0) * item.quantity;
  }
  return price;
}

// With a price from its first commit on, which may be another one by the next step.
void create_order(const Journal& journal, Local& step, PlaceOrder& placed) {
  std::tie(placed.amount, placed.currency) = price_of(step.tx(), placed.items);
  const skald::Rows created = step->query(
      "INSERT INTO order_record (id, customer, items, amount, currency, status, saga_id, locking, when_busy, "
      "created_at, updated_at, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, 0) "
      "ON CONFLICT (id) DO UPDATE SET status = excluded.status, amount = excluded.amount, currency = "
      "excluded.currency, updated_at = excluded.updated_at, version = order_record.version + 1 "
      "WHERE order_record.saga_id = excluded.saga_id RETURNING version",
      placed.order_id, placed.customer, skald::to_json(placed.items), placed.amount, placed.currency, Status::PENDING,
      step.saga_id(), placed.locking, placed.when_busy, step->now());
  if (created.empty()) throw Refused("ORDER_EXISTS", "order " + placed.order_id + " was placed by another saga");
  placed.version = created.get<std::int64_t>(0, 0);
  step->note({skald::RowAccess::Kind::write, "order", placed.order_id, std::nullopt, *placed.version});
  announce(step.tx(), mover_of(step, placed), placed.items);
  journal.note(step, placed.order_id, "PENDING");
}

void price_order(Local& step, PlaceOrder& placed) {
  const Price price = price_of(step.tx(), placed.items);
  if (price == Price(placed.amount, placed.currency)) return;
  std::tie(placed.amount, placed.currency) = price;
  placed.version = skald::update_if_unchanged<&Order::amount, &Order::currency, &Order::updated_at>(
      step.tx(), placed.order_id, placed.version.value(), placed.amount, placed.currency, step->now());
}

// With its reason, which outlives the saga. Not only steps refuse: the engine does so for a lock.
void fail_order(const Journal& journal, skald::Observer& observer, Local& step, PlaceOrder& placed) {
  const skald::SagaError why = step.context().failure.value_or(skald::SagaError{"UNKNOWN", "no reason is known"});
  withdraw(step.tx(), mover_of(step, placed));
  step->enqueue("UPDATE order_record SET fail_code = $2, fail_message = $3 WHERE id = $1", placed.order_id, why.code,
                why.message);
  change_status(journal, step, placed.order_id, placed.version, Status::FAILED, why.code);
  step->after_commit([&observer, code = why.code] {
    if (code == "BUSY") observer.count("order_rejected_busy_total");
    if (code == "SOLD_OUT") observer.count("order_rejected_sold_out_total");
  });
}

void reserve_stock(const Journal& journal, Local& step, PlaceOrder& placed) {
  try {
    reserve(step.tx(), mover_of(step, placed), placed.items);
  } catch (const skald::Busy& busy) {
    if (placed.when_busy == BusyChoice::wait) throw;
    if (placed.when_busy == BusyChoice::retry) throw skald::Busy(busy.code(), busy.what(), busy.retry_after);
    throw Refused(busy.code(), busy.what());
  }
  // Reserved in this transaction, the products are its own until it ends: what is read of them
  // now is what the customer pays.
  if (price_of(step.tx(), placed.items) != Price(placed.amount, placed.currency))
    throw skald::Stale("PRICE_CHANGED", "a price has changed since the order was priced: order again to see it");
  journal.note(step, placed.order_id, "RESERVED");
}

void release_stock(const Journal& journal, Local& step, PlaceOrder& placed) {
  release(step.tx(), mover_of(step, placed), placed.items);
  say_freed(step, placed.items);
  journal.note(step, placed.order_id, "RELEASED");
}

void confirm_stock(const Journal& journal, Local& step, PlaceOrder& placed) {
  step->enqueue(
      "INSERT INTO order_payment (id, order_id, saga_id, amount, currency, status, charged_at) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7)",
      *placed.charge, placed.order_id, step.saga_id(), placed.amount, placed.currency, PaymentStatus::CHARGED,
      step->now());
  journal.note(step, placed.order_id, "CHARGED");
  confirm(step.tx(), mover_of(step, placed), placed.items);
}

void confirm_order(const Journal& journal, Local& step, PlaceOrder& placed) {
  change_status(journal, step, placed.order_id, placed.version, Status::CONFIRMED);
}

// None before the order is there (it has no currency yet): an order that waits for a product,
// or is refused for it, is one that its customer can look at.
std::vector<std::string> skus_once_created(const PlaceOrder& placed) {
  std::vector<std::string> out;
  if (placed.currency.empty()) return out;
  for (const Item& item : placed.items) out.push_back(item.sku);
  return out;
}

}  // namespace

skald::WhenBusy when_busy_of(BusyChoice choice) {
  switch (choice) {
    case BusyChoice::retry: return skald::try_again(kTriesRetrying, kPauseFirst);
    case BusyChoice::reject: return skald::reject;
    default: return skald::wait_up_to(kWaitMax);
  }
}

skald::Saga<PlaceOrder> place_order_saga(skald::Env env, std::shared_ptr<Payments> payments,
                                         skald::Duration call_timeout, skald::Duration deadline) {
  using skald::Guard;
  const Journal journal(env.observer);
  const auto noted = [journal](void (*run)(const Journal&, Local&, PlaceOrder&)) {
    return [journal, run](Local& step, PlaceOrder& placed) { run(journal, step, placed); };
  };
  return skald::Saga<PlaceOrder>("order.place")
      .version(2)  // the first did not reread prices; workers that know only that one leave these alone
      .local("create order", noted(create_order))
      .undo([journal, &observer = env.observer](Local& step, PlaceOrder& placed) {
        fail_order(journal, observer, step, placed);
      })
      .holds("order", &PlaceOrder::order_id, skald::exclusive)
      .writes("order")
      .local("price order", price_order)
      .nothing_to_undo()
      .reads("price", Guard::reread)
      .writes("order", Guard::optimistic)
      .local("reserve stock", noted(reserve_stock))
      .undo(noted(release_stock))
      .rereads("price order")
      .holds(
          "product", skus_once_created,
          [](const PlaceOrder& placed) {
            return std::optional(placed.locking == LockChoice::exclusive ? skald::exclusive : skald::shared);
          },
          [](const PlaceOrder& placed) { return when_busy_of(placed.when_busy); })
      .retry(kTriesRetrying, kPauseFirst)
      .writes("product", Guard::commutative)
      .remote("charge",
              [payments](Remote& step, PlaceOrder& placed) {
                placed.charge = payments->charge(step, placed.order_id, placed.amount, placed.currency);
              })
      .retry(3, kPauseFirst)
      .timeout(call_timeout)
      .pivot()
      .writes("payment", Guard::idempotency_key)
      .local("confirm stock", noted(confirm_stock))
      .writes("payment", Guard::idempotency_key)
      .writes("product", Guard::commutative)
      .local("confirm order", noted(confirm_order))
      .writes("order", Guard::optimistic)
      .deadline(deadline);
}

}  // namespace order
