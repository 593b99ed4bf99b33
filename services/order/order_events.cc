// What happens to one order, as a stream that ends with it.
#include "order/shop.h"
#include "order/validation.h"

namespace order {
namespace {

using skald::Request;
using skald::Transaction;

struct Happening {
  std::int64_t seq = 0;
  std::string order_id, saga_id, what;
  skald::Time at{};
  std::optional<std::string> detail;
};
BOOST_DESCRIBE_STRUCT(Happening, (), (seq, order_id, saga_id, what, at, detail))

constexpr int kPartMax = 100;

// Nothing more will happen to it: a wish to cancel has its end, too.
bool is_final(const Order& order) {
  return (order.status == Status::FAILED || order.status == Status::CANCELLED) &&
         order.cancel_status != CancelStatus::PENDING;
}

struct Part {
  std::string text;
  std::int64_t last = 0;
  bool end = false;
};

Part part_after(Transaction& tx, const std::string& id, std::int64_t after) {
  const auto order = tx.find<Order>(id);
  Part part{"", after, !order || is_final(*order)};
  const skald::Rows rows = tx.query(
      "SELECT seq, saga_id, what, at, detail FROM order_history WHERE order_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
      id, after, kPartMax);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Happening one{rows.get<std::int64_t>(i, 0), id,
                        rows.get<std::string>(i, 1),  rows.get<std::string>(i, 2),
                        rows.get<skald::Time>(i, 3),  rows.get<std::optional<std::string>>(i, 4)};
    part.text += "id: " + std::to_string(one.seq) + "\nevent: " + one.what + "\ndata: " + skald::to_json(one) + "\n\n";
    part.last = one.seq;
  }
  return part;
}

std::int64_t last_seen(const Request& request) {
  const std::string text(request.header("last-event-id"));
  return text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != text.npos ? 0 : std::stoll(text);
}

}  // namespace

void add_order_events(const ShopHandle& shop, skald::Router& router) {
  skald::Doc doc = skald::describe<void, void>("What happens to an order, as it happens");
  doc.content_type = "text/event-stream";
  router.stream("/order/orders/{id}/events", skald::Access::customer, doc, [shop](const Request& request) {
    const std::string id = request.param("id");
    const auto order =
        shop->db().read_result([&](Transaction& tx) { return is_id(id) ? tx.find<Order>(id) : std::nullopt; });
    if (!order || !request.caller.may_see(order->customer))
      throw skald::NotFound("ORDER_NOT_FOUND", "there is no order with this id");
    return skald::Stream{shop->options.events_topic,
                         [shop, id, after = last_seen(request), ended = false]() mutable -> std::optional<std::string> {
                           if (ended) return std::nullopt;
                           Part part =
                               shop->db().read_result([&](Transaction& tx) { return part_after(tx, id, after); });
                           after = part.last;
                           ended = part.end && part.text.empty();
                           if (ended) return std::nullopt;
                           return std::move(part.text);
                         }};
  });
}

}  // namespace order
