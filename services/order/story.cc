// What this service adds to the story of an order: its history and its payments.
#include "order/record.h"
#include "order/shop.h"

namespace order {
namespace {

std::vector<skald::StoryPart> tell(skald::Transaction& tx, const std::string& name) {
  const auto order = tx.find<Order>(name);
  if (!order) return {};
  skald::StoryPart out;
  out.names = {order->id, order->saga_id};
  if (order->cancel_saga) out.names.push_back(*order->cancel_saga);
  out.owner = order->customer;
  const skald::Rows history =
      tx.query("SELECT at, what, detail FROM order_history WHERE order_id = $1 ORDER BY seq", name);
  for (std::size_t i = 0; i < history.size(); ++i)
    out.lines.push_back({skald::from_micros(history.get<std::int64_t>(i, 0)), "history", history.get<std::string>(i, 1),
                         name, history.get<std::optional<std::string>>(i, 2)});
  for (const auto& payment : tx.select<Payment>("WHERE order_id = $1 ORDER BY charged_at, id", name)) {
    out.lines.push_back({payment.charged_at, "payment", "charged", payment.id, {}});
    if (payment.refunded_at) out.lines.push_back({*payment.refunded_at, "payment", "refunded", payment.id, {}});
  }
  return {out};
}

}  // namespace

void add_story(const ShopHandle& shop) { shop->engine.tell(tell); }

}  // namespace order
