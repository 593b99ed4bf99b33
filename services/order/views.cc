#include "order/views.h"

#include <algorithm>

#include "order/cancel_order.h"
#include "order/stock.h"
#include "skald/saga_view.h"

namespace order {
namespace {

std::optional<Reason> reason_of(skald::Transaction& tx, const Order& order) {
  if (order.status != Status::FAILED) return std::nullopt;
  Reason reason{order.fail_code.value_or(""), order.fail_message.value_or(""), std::nullopt};
  if (!order.fail_code) {  // failed by a program that left it to the saga, which is forgotten some day
    const skald::Rows rows = tx.query("SELECT error_code, error_message FROM skald_saga WHERE id = $1", order.saga_id);
    if (rows.empty()) return std::nullopt;
    reason = {rows.get<std::string>(0, 0), rows.get<std::string>(0, 1), std::nullopt};
  }
  if (reason.code == "BUSY") reason.retry_after_seconds = kTryAgainAfter.count();
  return reason;
}

// Programs before this one cancelled orders and wrote nothing down but the saga.
std::optional<CancellationView> cancellation_of(skald::Transaction& tx, const Order& order) {
  if (!order.cancel_saga || (!order.cancel_status && order.status != Status::CANCELLED)) return std::nullopt;
  CancellationView view{order.cancel_status.value_or(CancelStatus::DONE),
                        order.cancel_reason.value_or(std::string(kNoReason)), order.cancel_code, order.cancel_message,
                        *order.cancel_saga};
  if (view.status != CancelStatus::PENDING) return view;
  const skald::Rows saga = tx.query("SELECT status, error_code FROM skald_saga WHERE id = $1", view.saga_id);
  if (saga.empty() || saga.get<skald::SagaStatus>(0, 0) != skald::SagaStatus::NEEDS_HELP) return view;
  view.code = "NEEDS_HELP";
  view.message = "the cancellation waits for a person (" + saga.get<std::string>(0, 1) + ")";
  return view;
}

constexpr std::string_view kSaga = "saga ", kSomebody = "another order";

// Ids of sagas are 26 characters, those of children more.
std::size_t id_length(std::string_view text) {
  constexpr std::size_t least = 26;
  std::size_t length = 0;
  while (length < text.size() && ((text[length] >= '0' && text[length] <= '9') ||
                                  (text[length] >= 'A' && text[length] <= 'Z') || text[length] == '.'))
    ++length;
  return length >= least ? length : 0;
}

}  // namespace

ProductView view_of(skald::Transaction& tx, const Product& product) {
  ProductView view{product.sku,      product.name,     product.price, product.currency,  product.initial,
                   product.quantity, product.reserved, product.sold,  product.restocked, {},
                   std::nullopt};
  const auto holders = tx.select<Reservation>("WHERE sku = $1 ORDER BY state, since, id LIMIT 1", product.sku);
  if (!holders.empty()) {
    const Reservation& first = holders[0];
    view.holder = Holder{first.saga_id, first.order_id, first.state, first.amount, first.since};
    view.status = first.state == ReservationState::RESERVED ? ProductStatus::RESERVED : ProductStatus::RESERVING;
  } else {
    view.status = product.quantity > 0 ? ProductStatus::AVAILABLE : ProductStatus::SOLD_OUT;
  }
  return view;
}

OrderView view_of(skald::Transaction& tx, const Order& order) {
  OrderView view;
  view.id = order.id;
  view.customer = order.customer;
  view.items = items_of(order);
  if (view.items.size() == 1) {
    view.sku = view.items[0].sku;
    view.quantity = view.items[0].quantity;
  }
  view.price = {order.amount, order.currency};
  view.status = order.status;
  view.reason = reason_of(tx, order);
  view.cancellation = cancellation_of(tx, order);
  view.saga_id = order.saga_id;
  view.cancel_saga_id = order.cancel_saga;
  view.lock = order.locking;
  view.when_busy = order.when_busy;
  view.created_at = order.created_at;
  view.updated_at = order.updated_at;
  return view;
}

ProductView shown_to(const skald::Caller& caller, ProductView view) {
  if (caller.role == skald::Role::customer) view.holder.reset();
  return view;
}

OrderView shown_to(const skald::Caller& caller, OrderView view) {
  std::vector<std::string> own{view.saga_id};
  if (view.cancellation) own.push_back(view.cancellation->saga_id);
  if (view.reason) view.reason->message = shown_to(caller, view.reason->message, own);
  if (view.cancellation && view.cancellation->message)
    view.cancellation->message = shown_to(caller, *view.cancellation->message, own);
  return view;
}

std::string shown_to(const skald::Caller& caller, const std::string& sentence, const std::vector<std::string>& own) {
  if (caller.role != skald::Role::customer) return sentence;
  std::string out;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::string_view rest = std::string_view(sentence).substr(at);
    const std::size_t length = rest.starts_with(kSaga) ? id_length(rest.substr(kSaga.size())) : 0;
    const bool foreign = length > 0 && std::ranges::find(own, rest.substr(kSaga.size(), length)) == own.end();
    out += foreign ? kSomebody : rest.substr(0, 1);
    at += foreign ? kSaga.size() + length : 1;
  }
  return out;
}

}  // namespace order
