#include <charconv>

#include "order/shop.h"
#include "order/stock.h"
#include "order/validation.h"
#include "order/views.h"
#include "skald/conditions.h"
#include "skald/controls.h"

namespace order {
namespace {

using skald::Access;
using skald::Invalid;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

Order order_of(Transaction& tx, const Request& request) {
  const std::string& id = request.param("id");
  auto order = is_id(id) ? tx.find<Order>(id) : std::nullopt;
  // To a customer, the orders of others are not there.
  if (!order || !request.caller.may_see(order->customer))
    throw skald::NotFound("ORDER_NOT_FOUND", "there is no order with this id");
  return *order;
}

// Behind the effect: who cannot be shown what came of it must not take it for undone.
OrderView look(const Shop& shop, const Request& request, const std::string& id) {
  try {
    return shop.db().read_result([&](Transaction& tx) {
      const auto order = tx.find<Order>(id);
      if (!order) throw skald::CommitUnknown("ORDER_NOT_YET", "the order is not there yet");
      return shown_to(request.caller, view_of(tx, *order));
    });
  } catch (const skald::Unavailable& error) {
    throw skald::CommitUnknown(error.code(), error.what());
  }
}

PlaceOrder wanted_by(const Shop& shop, const Request& request) {
  const auto asked = request.as<NewOrder>();
  PlaceOrder placed;
  placed.items = items_of(asked);
  placed.locking = asked.lock.value_or(LockChoice::none);
  placed.when_busy = asked.when_busy.value_or(BusyChoice::wait);
  placed.customer = asked.customer.value_or(request.caller.subject);
  if (!request.caller.may_see(placed.customer))
    throw skald::Forbidden("NOT_YOURS", "only an admin orders for somebody else; leave customer out");
  if (placed.customer.size() > 200 || skald::has_controls(placed.customer))
    throw Invalid("BAD_CUSTOMER", "customer must be at most 200 bytes without control characters");
  shop.db().read([&](Transaction& tx) {
    std::string currency;
    for (const Item& item : placed.items) {
      const auto product = tx.find<Product>(item.sku);
      if (!product) throw skald::NotFound("PRODUCT_NOT_FOUND", "there is no product " + item.sku);
      if (!currency.empty() && currency != product->currency)
        throw Invalid("MIXED_CURRENCY", "one order is paid in one currency: order the others separately");
      currency = product->currency;
    }
  });
  return placed;
}

[[noreturn]] void refuse_busy(const std::string& message) {
  throw skald::RefusedForNow("BUSY", message, kTryAgainAfter);
}

// The order as its placement has left it so far; BUSY is a refusal where the customer wants
// its products alone and at once, or not at all.
Response placed_answer(const Shop& shop, const Request& request, const PlaceOrder& placed) {
  const bool at_once = placed.locking == LockChoice::exclusive && placed.when_busy == BusyChoice::reject;
  const OrderView view = look(shop, request, placed.order_id);
  if (at_once && view.reason && view.reason->code == "BUSY") refuse_busy(view.reason->message);
  return Response::json(202, view);
}

// Of a request that may have come before: its order is begun, or found, by the id of its effect.
void place_unless_placed(const Shop& shop, const PlaceOrder& placed, const skald::StartOptions& options) {
  const bool known =
      shop.db().read_result([&](Transaction& tx) { return tx.find<Order>(placed.order_id).has_value(); });
  if (known) return;
  try {
    shop.engine.sagas().start(shop.place, placed, options);
  } catch (const skald::Busy& busy) {
    if (busy.code() != "SAGA_JUST_ENDED") throw;  // that was this order's: there it is
  }
}

Response place(const Shop& shop, const Request& request) {
  PlaceOrder placed = wanted_by(shop, request);
  placed.order_id = request.effect_id;
  skald::StartOptions options{
      .key = placed.order_id, .on_duplicate = skald::OnDuplicate::join, .id = {}, .traceparent = request.traceparent};
  if (!request.header("idempotency-key").empty()) {
    place_unless_placed(shop, placed, options);
  } else {
    options.on_duplicate = skald::OnDuplicate::allow;  // nobody else knows this id
    shop.engine.sagas().start(shop.place, placed, options);
  }
  return placed_answer(shop, request, placed);
}

// Why it was refused at once, if it was.
std::optional<skald::SagaError> begin_cancel(const Shop& shop, const Request& request, CancelOrder cancelled) {
  const std::string id = cancelled.order_id;
  try {
    return shop.engine.sagas()
        .start(shop.cancel, std::move(cancelled), {.key = id, .traceparent = request.traceparent})
        .error;
  } catch (const skald::Busy& busy) {
    if (busy.code() != "SAGA_JUST_ENDED") throw;
    return skald::SagaError{"BUSY", "another cancellation of this order has just ended: look at the order"};
  }
}

// Accepted, it ends in CANCELLED or in what the order's `cancellation` says. One under way is joined. What is
// cancelled may be cancelled again: by a request, too, that has come before and whose answer was lost.
Response cancel(const Shop& shop, const Request& request) {
  const auto asked = request.body.empty() ? Cancellation{} : request.as<Cancellation>();
  check(asked);
  const Order order = shop.db().read_result([&](Transaction& tx) { return order_of(tx, request); });
  CancelOrder cancelled;
  cancelled.order_id = order.id;
  cancelled.when_busy = asked.when_busy.value_or(BusyChoice::wait);
  if (asked.reason != "") cancelled.reason = asked.reason;
  const bool done = order.status == Status::CANCELLED;
  const auto refused = done ? std::nullopt : begin_cancel(shop, request, std::move(cancelled));
  const OrderView view = look(shop, request, order.id);
  if (refused && view.status != Status::CANCELLED) {
    const std::string message = shown_to(request.caller, refused->message, {order.saga_id});
    if (refused->code == "BUSY") refuse_busy(message);
    throw skald::Refused(refused->code, message);
  }
  return Response::json(202, view);
}

struct Position {
  std::int64_t created_at = 0;
  std::string id;
};

std::optional<Position> position_of(const Page& page) {
  if (!page.cursor) return std::nullopt;
  const auto parts = page.after(2);
  Position position{0, parts[1]};
  const auto [end, error] = std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), position.created_at);
  if (error != std::errc() || end != parts[0].data() + parts[0].size() || !is_id(position.id))
    throw Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  return position;
}

// Newest first; customers get their own.
std::vector<Order> list_orders(Transaction& tx, const Request& request, const Page& page) {
  auto customer = request.query_value("customer");
  if (!request.caller.may_see(customer.value_or(""))) customer = request.caller.subject;
  const auto status = skald::enum_filter<Status>(request, "status", "BAD_STATUS");
  const auto position = position_of(page);
  skald::Conditions conditions;
  if (customer) conditions.add("customer = " + conditions.bind(*customer));
  if (status) conditions.add("status = " + conditions.bind(*status));
  if (position) {
    const std::string created = conditions.bind(position->created_at), id = conditions.bind(position->id);
    conditions.add("(created_at, id) < (" + created + ", " + id + ")");
  }
  const std::string limit = conditions.bind(page.limit + 1);
  return tx.select<Order>(conditions.where() + " ORDER BY created_at DESC, id DESC LIMIT " + limit,
                          conditions.params());
}

Response list(const Shop& shop, const Request& request) {
  const Page page = Page::of(request);
  std::vector<OrderView> views;
  shop.db().read([&](Transaction& tx) {
    views.clear();
    for (const Order& order : list_orders(tx, request, page))
      views.push_back(shown_to(request.caller, view_of(tx, order)));
  });
  return Response::json(200, page.cut(std::move(views), [](const OrderView& last) {
    return Page::cursor_at({std::to_string(skald::to_micros(last.created_at)), last.id});
  }));
}

}  // namespace

void add_order_paths(const ShopHandle& shop, skald::Router& router) {
  skald::Database& db = shop->db();
  router.act_once(db, "/order/orders", Access::customer, skald::describe<NewOrder, OrderView>("Place an order", 202),
                  [shop](const Request& request) { return place(*shop, request); });
  router.act_once(db, "/order/orders/{id}/cancel", Access::customer,
                  skald::describe<Cancellation, OrderView>("Cancel an order", 202),
                  [shop](const Request& request) { return cancel(*shop, request); });
  router.get("/order/orders", Access::customer,
             skald::describe<void, skald::Listing<OrderView>>("Orders, newest first", 200, {"customer", "status"}),
             [shop](const Request& request) { return list(*shop, request); });
  router.get("/order/orders/{id}", Access::customer, skald::describe<void, OrderView>("An order"),
             [shop](const Request& request) {
               return shop->db().read_result([&](Transaction& tx) {
                 return Response::json(200, shown_to(request.caller, view_of(tx, order_of(tx, request))));
               });
             });
}

}  // namespace order
